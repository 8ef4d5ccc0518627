"""What a test of faults tried and what it cost, kept for the table of docs/reliability.md: `make faults`.

Nobody has to remember to look for what stays behind: of every test that tells something, the processes that outlive
whoever started them and the files that it leaves in the temporary folder are counted, and there may be none.
"""

import contextlib
import getpass
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

_MARK = "XLABENCH_TESTED_BY"
"""Variable that every process which a test starts inherits."""
_GONE_WITHIN_S = 10.0
_rows: list[dict[str, Any]] = []


def add_row(fault: str, tries: int, message: str, *, lost: int | None = None, doubled: int | None = None) -> None:
    """Keep one row of the table.

    Args:
        fault: what was done.
        tries: how often.
        message: what came of it, as the test has asserted.
        lost: records or jobs, where the test has counted them.
        doubled: the same.
    """
    _rows.append({"fault": fault, "tries": tries, "lost": lost, "doubled": doubled, "message": message})


def begin_session() -> None:
    """Mark the processes of this session's tests; their temporary files lie in a folder that only they use.

    The compilers' own cache stays where it is, as it is meant to outlive whoever fills it.
    """
    os.environ[_MARK] = str(os.getpid())
    shared = Path(tempfile.gettempdir())
    own = Path(tempfile.mkdtemp(prefix="xt-"))
    own.chmod(0o711)  # some tests act as another user
    (shared / f"torchinductor_{getpass.getuser()}").mkdir(exist_ok=True)
    for folder in shared.glob("torchinductor_*"):
        (own / folder.name).symlink_to(folder)
    os.environ["TMPDIR"] = tempfile.tempdir = str(own)


def files() -> set[str]:
    """Return what lies in the temporary folder, but what is meant to stay: the cache of the compilers."""
    names = (path.name for path in Path(tempfile.gettempdir()).iterdir())
    return {name for name in names if not name.startswith("torchinductor_")}


def now() -> float:
    """Return the seconds since the machine started, as the kernel counts the start of a process."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def orphans(since: float) -> list[str]:
    """Return the processes that this session's tests have started since then and that outlive whoever started them.

    What an earlier test has left is no fault of this one: a browser's own daemon lives as long as the browser.
    """
    ours = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
    mark = f"{_MARK}={os.environ[_MARK]}".encode()
    found = []
    for process in psutil.process_iter():
        if process.pid in ours:
            continue
        with contextlib.suppress(OSError, psutil.Error):
            place = Path(f"/proc/{process.pid}")
            ticks = int((place / "stat").read_text().rpartition(")")[2].split()[19])
            is_new = (ticks + 1) / os.sysconf("SC_CLK_TCK") >= since
            if is_new and mark in (place / "environ").read_bytes().split(b"\0"):
                found.append(f"{process.pid} {' '.join(process.cmdline())[:200]}")
    return found


def look_for_orphans(since: float) -> None:
    """Count, at the end of a test that has told something, the processes that stay; there may be none."""
    deadline = time.monotonic() + _GONE_WITHIN_S
    while _rows and (left := orphans(since)):
        assert time.monotonic() < deadline, f"processes stay: {left}"
        time.sleep(0.05)
    for row in _rows:
        row["orphaned"] = 0


def look_for_files(before: set[str]) -> None:
    """Count what a test that has told something has left in the temporary folder, and keep its rows."""
    rows, _rows[:] = list(_rows), []
    if not rows:
        return
    deadline = time.monotonic() + _GONE_WITHIN_S
    while left := files() - before:
        assert time.monotonic() < deadline, f"files stay in {tempfile.gettempdir()}: {sorted(left)}"
        time.sleep(0.05)
    place = os.environ.get("XLABENCH_FAULTS")
    for row in (row for row in rows if place and "orphaned" in row):
        with Path(str(place)).open("a", encoding="utf-8") as file:
            file.write(json.dumps({**row, "leaked": 0}) + "\n")
