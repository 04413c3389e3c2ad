"""Images to build on: pinned by digest, or made here."""
