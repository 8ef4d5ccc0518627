"""What can be wrong with a model of the user's own."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from runner.suites.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_MOST = 300


class OwnModelError(SuiteError):
    """A model of the user's own cannot be used; the text says what was found and what is wanted."""


class TooLarge(Exception):
    """The machine has too little memory to try the model."""


def described(error: BaseException, files: Iterable[str] = ()) -> str:
    """Name an error of somebody's code in one line, with the last line of these files that it passed through."""
    wanted = set(files)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename in wanted]
    text = " ".join(str(error).split("\n\n", maxsplit=1)[0].split())
    where = f"line {lines[-1]}: " if lines else ""
    return f"{where}{type(error).__name__}{': ' if text else ''}{text[:_MOST]}".rstrip(".")


def of_syntax(path: Path, error: SyntaxError) -> OwnModelError:
    """Say where a file is no Python."""
    where = f", line {error.lineno}" if error.lineno else ""
    return OwnModelError(f"{path.name}{where}: {error.msg}. Correct the file.")
