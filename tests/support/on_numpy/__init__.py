"""A target for tests of the worker, copied beside the real ones: it needs numpy only."""
