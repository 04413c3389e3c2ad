"""Environments: a lock made real, as a venv (the embedded default)."""
