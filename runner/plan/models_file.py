"""Read a list of models: one per line, also with batch sizes as the TorchDynamo harness's lists have them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_LINE = re.compile(r"(?P<name>[^\s,=]+)(?:(?:\s*[,=]\s*|\s+)(?P<size>[1-9]\d*))?")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One model of a list; `name` may be `SUITE/NAME`."""

    number: int
    name: str
    batch_size: int | None


def read_models_file(path: Path) -> list[Line]:
    """Return the models in the order of the file; `#` begins a comment.

    Raises:
        UsageError: the file is not there, holds no model, or a line is of another form.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise UsageError(f"--models-file {path}: {reason}; pass a list with one model per line.") from None
    lines = [_line(path, number, line) for number, line in enumerate(text.splitlines(), 1)]
    found = [line for line in lines if line is not None]
    if not found:
        raise UsageError(f"--models-file {path}: the file lists no model; write one per line.")
    return found


def _line(path: Path, number: int, line: str) -> Line | None:
    content = line.partition("#")[0].strip()
    if not content:
        return None
    found = _LINE.fullmatch(content)
    if found is None:
        raise UsageError(
            f"--models-file {path}, line {number}: {content!r} is not a model name, "
            "optionally followed by a batch size."
        )
    return Line(number=number, name=found["name"], batch_size=int(found["size"]) if found["size"] else None)
