"""A model that ends its process, or hangs: it runs in a process of its own."""

from __future__ import annotations

import subprocess
import sys

from runner.repro.parts.given import EXIT_CODE, LIMIT_S, SIGNAL, build
from runner.repro.parts.report import not_shown, run, shown
from runner.repro.parts.step import run_model

_CHILD = "--in-child"


def main() -> int:
    """Run the model in another process and see how that ends."""
    if _CHILD in sys.argv:
        run_model(build())
        return 0
    child = subprocess.Popen([sys.executable, __file__, _CHILD])
    try:
        code = child.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        if SIGNAL is None and EXIT_CODE is None:
            return shown(f"still running after {LIMIT_S:g} s")
        return not_shown(f"it hangs: still running after {LIMIT_S:g} s")
    print(f"the process ended with {code}" + (" (a signal)" if code < 0 else ""))
    expected = -SIGNAL if SIGNAL is not None else EXIT_CODE
    return shown("it ends as expected") if code == expected else not_shown("it ends in another way")


if __name__ == "__main__":
    run(main)
