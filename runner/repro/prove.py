"""Run a script once in a process of its own, for a bounded time, and say whether it shows its fault."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from runner.plan.interpreters import variables
from runner.repro.candidates import candidates
from store.repro.fault import Outcome, Proof

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.repro.candidates import Candidate
    from runner.settings import OwnModel
    from store.repro.fault import Fault

_END = 12_000
_SLACK_S = 60.0
"""What a script needs beyond the time at which its program counts as hanging."""
_VERDICTS: dict[tuple[int, str], Outcome] = {(0, "SHOWN"): "shown", (1, "NOT SHOWN"): "not shown"}
_VERDICT = re.compile(r"^(SHOWN|NOT SHOWN): ", re.MULTILINE)
_VERSIONS = re.compile(r"^VERSIONS: (.*)$", re.MULTILINE)


def show(
    fault: Fault,
    python: str = sys.executable,
    limit_s: float = 300.0,
    tell: Callable[[str], None] = lambda _: None,
    own: OwnModel | None = None,
) -> Proof:
    """Try scripts from small to large; return the proof of the first that shows the fault, else of the last that ran.

    Args:
        fault: what to show.
        python: interpreter that runs the scripts.
        limit_s: for each script, and for each look into the model.
        tell: is called with a line about what is done next.
        own: the source of the model, where that is the user's own.

    Raises:
        UsageError: no script can run what the record measured.
    """
    best: Proof | None = None
    for candidate in candidates(fault, python, limit_s, own):
        tell(f"{candidate.what}: " + (candidate.impossible or "running"))
        proof = prove(candidate, python, limit_s)
        if proof.outcome == "shown":
            return proof
        if best is None or proof.outcome == "not shown" or best.outcome == "could not run":
            best = proof
    assert best is not None  # noqa: S101 - there is a candidate for every kind
    return best


def prove(candidate: Candidate, python: str, limit_s: float) -> Proof:
    """Run one script; nothing that it starts outlives this."""
    limit = max(limit_s, candidate.at_least_s + _SLACK_S if candidate.at_least_s else 0.0)
    began, now = time.monotonic(), datetime.now(UTC)
    outcome: Outcome = "could not run"
    output = candidate.impossible
    if not candidate.impossible:
        code, output = _run(candidate, python, limit)
        said = _VERDICT.findall(output)
        if code is None:
            output += f"\n(killed: not finished after {limit:g} s)"
        elif said:
            outcome = _VERDICTS.get((code, said[-1]), outcome)
    versions = _VERSIONS.search(output)
    return Proof(
        outcome=outcome,
        what=candidate.what,
        script=candidate.script,
        output=output[-_END:],
        seconds=time.monotonic() - began,
        at=now,
        versions=versions[1] if versions else "",
    )


def _run(candidate: Candidate, python: str, limit_s: float) -> tuple[int | None, str]:
    """Return the exit code, None where the time was over, and what was printed."""
    with tempfile.TemporaryDirectory(prefix="xlabench-repro-") as scratch:
        place = Path(scratch) / "repro.py"
        place.write_text(candidate.script, encoding="utf-8")
        log = Path(scratch) / "output.txt"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [python, place.name],
                cwd=scratch,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env=_environment(candidate, python, scratch),
                start_new_session=True,
            )
            try:
                code: int | None = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        text = log.read_text(encoding="utf-8", errors="replace")
        return code, text.replace(f"{scratch}/", "")


def _environment(candidate: Candidate, python: str, scratch: str) -> dict[str, str]:
    """Return the script's variables: caches of its own, and nothing of ours on its path where it stands alone."""
    caches = {
        "TORCHINDUCTOR_CACHE_DIR": f"{scratch}/inductor",
        "TRITON_CACHE_DIR": f"{scratch}/triton",
        "XLA_PERSISTENT_CACHE_PATH": "",
        "PYTHONUNBUFFERED": "1",
    }
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" or not candidate.alone}
    if candidate.alone:
        return {**own, **caches}
    packages = variables(python).get("PYTHONPATH") or os.environ.get("PYTHONPATH", "")
    return {**own, **caches, "PYTHONPATH": os.pathsep.join(filter(None, [str(Path.cwd()), packages]))}
