"""`every_case.py BACKEND FILE TIMEOUT`: run each case of a configuration in this one process; a line of JSON for each.

A case that takes longer than TIMEOUT seconds is given up where Python can be interrupted.
"""

import importlib
import json
import signal
import sys
import time
from pathlib import Path

from runner.param import Case, expand, run


def main() -> None:
    """Print id, test, what became of it and the seconds that it took."""
    backend, file, timeout = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    # Before the first alarm: an import that is given up half-way would spoil every case behind it.
    importlib.import_module("torch")
    signal.signal(signal.SIGALRM, _give_up)
    for case in expand(file):
        for backward in (False, True):
            began = time.monotonic()
            signal.alarm(timeout)
            became = _skipped(case, backward=backward) or _outcome(case, backend, backward=backward)
            signal.alarm(0)
            test = "train" if backward else "eval"
            line = {"id": case.param_id, "test": test, "became": became, "seconds": time.monotonic() - began}
            print(json.dumps(line), flush=True)


def _skipped(case: Case, *, backward: bool) -> str | None:
    reason = case.missing or (case.no_backward if backward else None)
    return f"skipped: {reason}" if reason else None


def _outcome(case: Case, backend: str, *, backward: bool) -> str:
    try:
        report = run(case, backend=backend, backward=backward, warmup=0, iteration=1).report
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        return f"failed: {type(error).__name__}: {(str(error).strip() or 'no words').splitlines()[0]}"
    return f"invalid: {report.invalid}" if report.invalid else "ran"


def _give_up(*_: object) -> None:
    raise TimeoutError("given up")


if __name__ == "__main__":
    main()
