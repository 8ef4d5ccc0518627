"""`python -m runner.param -c FILE …`: the command line of PARAM's `run_benchmark`."""

from __future__ import annotations

import sys

from runner.param.command_line import main

if __name__ == "__main__":
    sys.exit(main())
