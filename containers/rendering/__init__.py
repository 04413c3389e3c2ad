"""Dockerfiles: from a lock and a base to text, purely."""
