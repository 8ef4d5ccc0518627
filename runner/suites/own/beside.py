"""Which files of its folder a user's source imports or reads: they are in its hash, so that a changed one is seen."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runner.suites.own.errors import OwnModelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

DATA_FILES = "data_files"
"""Name under which a source lists files that Python does not see it read."""
_NOT_THEIRS = ("site-packages", "dist-packages", "__pycache__")
_OURS = tuple(Path(__file__).parents[3] / name for name in ("runner", "store", "xlabench"))
_PYTHON = Path(os.__file__).parent
_WRITING = set("wax+")


class Reads:
    """Files that were opened, by whether something was written to them."""

    def __init__(self) -> None:
        self.modules = frozenset(sys.modules)
        """Imported before."""
        self._read: set[str] = set()
        self._written: set[str] = set()

    def opened(self, place: Any, mode: Any, flags: Any) -> None:
        """Take note of an `open`."""
        if isinstance(place, str | bytes | os.PathLike):
            writes = bool(_WRITING & set(mode)) if isinstance(mode, str) else bool((flags or 0) & os.O_ACCMODE)
            (self._written if writes else self._read).add(os.path.abspath(os.fsdecode(place)))  # noqa: PTH100 - follows no link

    def beside(self, source: Path, declared: Iterable[str] = ()) -> tuple[str, ...]:
        """Return the files in the folder of a source that it imports or reads, relative to it."""
        data = {Path(each) for each in self._read - self._written if not each.endswith((".py", ".pyc"))}
        data |= {source.parent / each for each in declared}
        found = {path.resolve() for path in data | set(imported(source, self.modules).values()) if path.is_file()}
        names = (_within(path, source.resolve().parent) for path in found - {source.resolve()})
        return tuple(sorted(name for name in names if name))


_WATCHING: list[Reads] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _WATCHING:
        _WATCHING[-1].opened(*arguments)


@contextlib.contextmanager
def watched() -> Iterator[Reads]:
    """Take note of what is opened meanwhile; Python keeps the hook until the process ends."""
    sys.addaudithook(_hear)
    _WATCHING.append(Reads())
    try:
        yield _WATCHING[-1]
    finally:
        _WATCHING.pop()


def declared(names: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the files that a source lists itself.

    Raises:
        OwnModelError: one is not there.
    """
    files = tuple(map(str, names.get(DATA_FILES, ())))
    folder = Path(names["__file__"]).parent
    for name in files:
        if not (folder / name).is_file():
            raise OwnModelError(f"{DATA_FILES} lists {name}, and there is no such file. Correct the list.")
    return files


def imported(source: Path, before: frozenset[str]) -> dict[str, Path]:
    """Return the modules from the folder of a source that were imported since, with their files."""
    found = {}
    for name in sorted(set(sys.modules) - before):
        place = getattr(sys.modules[name], "__file__", None)
        if place and place.endswith(".py") and _within(Path(place).resolve(), source.resolve().parent):
            found[name] = Path(place).resolve()
    return found


def _within(path: Path, root: Path) -> str | None:
    """Return the path below a folder; None for what is elsewhere, hidden, installed or ours."""
    if not path.is_relative_to(root) or any(path.is_relative_to(ours) for ours in _OURS):
        return None
    parts = path.relative_to(root).parts
    theirs = not set(_NOT_THEIRS) & set(path.parts) and not path.is_relative_to(_PYTHON)
    return "/".join(parts) if theirs and not any(part.startswith(".") for part in parts) else None


def sha256(source: Path, beside: Iterable[str]) -> str:
    """Return the hash of a file; with files beside it, that of all their names and hashes.

    Raises:
        OSError: one cannot be read.
    """
    root = source.resolve().parent
    files = sorted({source.resolve().name, *beside})
    if len(files) == 1:
        return _of_file(source)
    lines = [f"{name} {_of_file(root / name)}" for name in files]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
