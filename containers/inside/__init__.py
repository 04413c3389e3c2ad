"""Runs inside an image, with its own Python: Python 3.9 syntax, the standard library only."""
