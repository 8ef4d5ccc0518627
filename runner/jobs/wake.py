"""Tell the worker of a home, without waiting, that there is something to do: a byte into its pipe."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PIPE = "wake"


def tell(home: Path) -> None:
    """Wake the worker; without one nothing happens."""
    with contextlib.suppress(OSError):
        handle = os.open(_path(home), os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.write(handle, b"!")
        finally:
            os.close(handle)


def listen(home: Path) -> int:
    """Return a descriptor that becomes readable when somebody tells; the worker's end."""
    path = _path(home)
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkfifo(path)
    # Open for writing as well, so that it does not read as closed once the first teller has gone.
    return os.open(path, os.O_RDWR | os.O_NONBLOCK)


def drain(handle: int) -> None:
    """Take what was told."""
    with contextlib.suppress(BlockingIOError):
        while os.read(handle, 4096):
            pass


def _path(home: Path) -> Path:
    return home / "jobs" / _PIPE
