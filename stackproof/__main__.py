"""`python -m stackproof`."""

import sys

from .matrix.cli import main

if __name__ == "__main__":
    sys.exit(main())
