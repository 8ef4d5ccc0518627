"""`python -m runner`: PyTorch/XLA's `experiment_runner.py` by its own command line, or the program that is named."""

from __future__ import annotations

import sys

from runner.programs import main

if __name__ == "__main__":
    sys.exit(main())
