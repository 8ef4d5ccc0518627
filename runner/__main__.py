"""`python -m runner`: PyTorch/XLA's `experiment_runner.py` by its own command line."""

from __future__ import annotations

import sys

from runner.peer_cli.experiment_runner import main

if __name__ == "__main__":
    sys.exit(main())
