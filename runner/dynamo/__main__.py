"""`python -m runner.dynamo SUITE …`: torchbench.py, huggingface.py, timm_models.py, runner.py, or the XPU script."""

from __future__ import annotations

import sys

from runner.dynamo.cli import main

if __name__ == "__main__":
    sys.exit(main())
