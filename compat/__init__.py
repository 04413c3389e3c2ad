"""What is known, and the nouns that more than one package needs: stack, cell, lock, verdict."""
