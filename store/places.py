"""Commands of xlabench in texts: those that people type name the home and the store that are meant."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

DEFAULT_HOME = Path("xlabench-data")
WITHOUT_STORE = frozenset({"plan", "doctor", "jobs", "schedule", "notices", "mark", "backup", "completion"})
"""Verbs that do not take --database, or only some of their actions do."""
_COMMAND = re.compile(r"`(xlabench [a-z][^`]*)`")
_PARTS = re.compile(r"xlabench ([a-z][a-z-]*)((?: .*)?)", re.DOTALL)


def with_places(text: str, home: Path, store: Path) -> str:
    """Return a text whose commands, which stand in backticks, name a home and a store that are not the default."""
    return _COMMAND.sub(lambda found: f"`{command_with_places(found[1], home, store)}`", text)


def command_with_places(command: str, home: Path, store: Path) -> str:
    """Return a command that names a home and a store that are not the default, so that it works from any folder.

    What is no command of xlabench is returned as it is.
    """
    parts = _PARTS.fullmatch(command)
    if parts is None or "--help" in parts[2]:
        return command
    name, rest = parts.groups()
    flags = [f" --home {_quoted(home)}"] if home != DEFAULT_HOME and "--home" not in rest else []
    if store != home / "store" and name not in WITHOUT_STORE and "--database" not in rest:
        flags.append(f" --database {_quoted(store)}")
    return f"xlabench {name}{''.join(flags)}{rest}"


def _quoted(path: Path) -> str:
    return shlex.quote(str(path.absolute()))
