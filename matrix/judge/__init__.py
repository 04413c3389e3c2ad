"""The judge: evidence against the reference and the baseline. The rules are written down in `docs/tolerance.md`."""
