"""A harness's flags as data: each becomes flags of ours, is honoured in code, has no effect, or is refused."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import yaml

if TYPE_CHECKING:
    from pathlib import Path

_EXIT_USAGE = 2
_TYPES = {"text": str, "int": int, "float": float}


class Flag(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One flag of theirs; exactly one of `gives`, `honoured`, `ignored` and `refused` says what becomes of it."""

    names: tuple[str, ...]
    takes: Literal["text", "int", "float"] | None = None
    """None: a switch."""
    many: bool = False
    """It may be given more than once."""
    several: bool = False
    """Each occurrence takes one value or more."""
    default: str | int | float | None = None
    choices: tuple[str | int, ...] = ()
    group: str | None = None
    """Name of a group of flags, of which at most one may be given."""
    required: bool = False
    gives: str | None = None
    """Flags of ours, `{}` for its value."""
    honoured: str | None = None
    ignored: str | None = None
    refused: str | None = None

    def __post_init__(self) -> None:
        fates = [self.gives, self.honoured, self.ignored, self.refused]
        if sum(fate is not None for fate in fates) != 1:
            raise ValueError(f"{self.names[0]} needs exactly one of gives, honoured, ignored, refused")

    @property
    def dest(self) -> str:
        return self.names[0].lstrip("-").replace("-", "_")

    @property
    def fate(self) -> str:
        """Say what becomes of it, in Markdown."""
        if self.gives is not None:
            return f"`{self.gives.replace('={}', '')}`"
        if self.refused is not None:
            return f"refused: {self.refused}"
        return self.honoured or f"no effect: {self.ignored}"


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All flags of one program; of each group in `required` one must be given."""

    required: tuple[str, ...] = ()
    flags: tuple[Flag, ...]

    def parser(self, program: str, description: str) -> Parser:
        """Return a parser of theirs: unambiguous prefixes and joined short flags work as they do there."""
        parser = Parser(prog=program, description=description)
        groups: dict[str, Any] = {}
        for flag in self.flags:
            holder: Any = parser
            if flag.group is not None:
                if flag.group not in groups:
                    wanted = flag.group in self.required
                    groups[flag.group] = parser.add_mutually_exclusive_group(required=wanted)
                holder = groups[flag.group]
            holder.add_argument(*flag.names, dest=flag.dest, **_keywords(flag))
        return parser

    def words(self, parsed: argparse.Namespace) -> list[str]:
        """Return our flags for all of theirs that have some."""
        found: list[str] = []
        for flag in self.flags:
            if flag.gives is None:
                continue
            value = getattr(parsed, flag.dest)
            if flag.takes is None:
                found += flag.gives.split() if value else []
            else:
                values = value if flag.many or flag.several else [value]
                found += [flag.gives.format(each) for each in values or () if each is not None]
        return found

    def markdown(self) -> str:
        """Return the table `theirs → ours` of docs/runner.md."""
        rows = [f"| {', '.join(f'`{name}`' for name in flag.names)} | {flag.fate} |" for flag in self.flags]
        return "\n".join(["| theirs | here |", "|---|---|", *rows]) + "\n"


class Parser(argparse.ArgumentParser):
    """Answers bad input with one sentence."""

    def error(self, message: str) -> None:  # type: ignore[override]
        self.exit(_EXIT_USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")


class _Refuse(argparse.Action):
    """Say why a flag of theirs cannot be honoured."""

    def __init__(self, *, reason: str, **keywords: Any) -> None:
        super().__init__(nargs="?", **keywords)
        self._reason = reason

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        del namespace, values
        parser.error(f"{option} is not supported: {self._reason}")


def load(path: Path) -> Table:
    """Read a table; a mistake in it is an error of ours, not of the user."""
    return msgspec.convert(yaml.safe_load(path.read_text()), Table)


def _keywords(flag: Flag) -> dict[str, Any]:
    text = flag.fate.replace("%", "%%")
    if flag.refused is not None:
        return {"action": _Refuse, "reason": flag.refused, "help": argparse.SUPPRESS}
    if flag.takes is None:
        return {"action": "store_true", "help": text}
    keywords: dict[str, Any] = {"type": _TYPES[flag.takes], "default": flag.default, "help": text}
    if flag.choices:
        keywords["choices"] = flag.choices
    else:
        keywords["metavar"] = flag.takes.upper()
    if flag.required:
        keywords["required"] = True
    if flag.many:
        keywords["action"] = "append"
    if flag.several:
        keywords |= {"action": "extend", "nargs": "+"}
    return keywords
