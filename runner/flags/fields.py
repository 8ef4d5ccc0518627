"""What the type and the `Flag` of a field say of its flag, worked out once."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from runner.errors import UsageError
from runner.plan.request import Flag
from runner.plan.values import Word

if TYPE_CHECKING:
    from collections.abc import Callable

_NONE = type(None)


@dataclass(frozen=True)
class Field:
    """A field that is a flag."""

    name: str
    flag: Flag
    default: Any
    many: bool
    """The flag may be repeated."""
    switches: bool
    """The flag takes no value."""
    word: Word
    known: Callable[[], tuple[Any, ...]] | tuple[Any, ...] | None
    """Its values, or what returns them; None: no such list."""

    @property
    def choices(self) -> tuple[Any, ...] | None:
        return self.known() if callable(self.known) else self.known

    @property
    def metavar(self) -> str | None:
        return self.flag.metavar or self.word.metavar

    def check(self, value: Any) -> None:
        """Check a value as if it had been typed.

        Raises:
            UsageError: the flag does not take it.
        """
        name = f"argument --{self.name.replace('_', '-')}: "
        choices = self.choices
        if choices is not None and value not in choices:
            raise UsageError(f"{name}invalid choice: {value!r} (choose from {', '.join(map(repr, choices))})")
        try:
            self.word.read(self.word.write(value))
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{name}{error}") from None


@cache
def flagged(kind: type) -> tuple[Field, ...]:
    """Return the fields of a struct that are flags, in their order."""
    hints = get_type_hints(kind, include_extras=True)
    found = []
    for each in msgspec.structs.fields(kind):
        hint = hints[each.name]
        flags = [part for part in getattr(hint, "__metadata__", ()) if isinstance(part, Flag)]
        if flags:
            found.append(_field(each.name, flags[0], hint, each.default))
    return tuple(found)


def _field(name: str, flag: Flag, hint: Any, default: Any) -> Field:
    kind = hint.__origin__
    many = get_origin(kind) is tuple
    words, kinds = _parts(get_args(kind)[0] if many else hint)
    literals = tuple(value for each in kinds if get_origin(each) is Literal for value in get_args(each))
    switches = bool in kinds or set(map(type, literals)) == {bool}
    first = literals[0] if literals else kinds[0]
    usual = Word(int if isinstance(first, int) else first if isinstance(first, type) else str)
    word = flag.word or (words[0] if words else usual)
    known = flag.choices or (literals if literals and not words and not switches else None)
    return Field(name=name, flag=flag, default=default, many=many, switches=switches, word=word, known=known)


def _parts(hint: Any) -> tuple[list[Word], list[Any]]:
    """Return the words and the plain types that a type is made of; None is none of them."""
    if get_origin(hint) is Annotated:
        words, kinds = _parts(hint.__origin__)
        return [*(each for each in hint.__metadata__ if isinstance(each, Word)), *words], kinds
    if get_origin(hint) in (Union, UnionType):
        parts = [_parts(each) for each in get_args(hint) if each is not _NONE]
        return [word for words, _ in parts for word in words], [kind for _, kinds in parts for kind in kinds]
    return [], [hint]
