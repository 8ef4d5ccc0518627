"""The flags of planning and measuring: declared, read and written from the fields of a request, so none is named twice.

They are made with argparse. `--help` of one verb with 95 flags took 0.32 s with cyclopts 5.4 and 0.21 s with typer 0.29
before anything of ours was imported; all verbs with all of their flags take 0.25 s here, imports included, and 0.4 s is
the limit. Neither has a short and a whole help, or a flag whose value may be left out.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from runner.flag import Flag, Word
from runner.plan import plan_file
from runner.plan.local_request import LocalRequest, check
from runner.plan.request import Configuration, Protocol, RunRequest, Selection
from store.errors import UsageError

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
    """The values that it takes, or a function that returns them; None if they cannot be listed."""

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
        name = _dashed(self.name)
        choices = self.choices
        if choices is not None and value not in choices:
            raise UsageError(f"{name} {value} is not valid. Choose one of {', '.join(map(str, choices))}.")
        try:
            self.word.read(self.word.write(value))
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"{name}: {error}.") from None


@cache
def flagged(kind: type) -> tuple[Field, ...]:
    """Return the fields of a struct that are flags, in their order; those that it inherits come last."""
    hints = get_type_hints(kind, include_extras=True)
    fields = []
    for spec in sorted(msgspec.structs.fields(kind), key=lambda spec: spec.name not in kind.__annotations__):
        hint = hints[spec.name]
        flags = [part for part in getattr(hint, "__metadata__", ()) if isinstance(part, Flag)]
        if flags:
            fields.append(_field(spec.name, flags[0], hint, spec.default))
    return tuple(fields)


def _field(name: str, flag: Flag, hint: Any, default: Any) -> Field:
    kind = hint.__origin__
    many = get_origin(kind) is tuple
    words, kinds = _parts(get_args(kind)[0] if many else hint)
    literals = tuple(value for kind in kinds if get_origin(kind) is Literal for value in get_args(kind))
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
        return [*(word_hint for word_hint in hint.__metadata__ if isinstance(word_hint, Word)), *words], kinds
    if get_origin(hint) in (Union, UnionType):
        parts = [_parts(part) for part in get_args(hint) if part is not _NONE]
        return [word for words, _ in parts for word in words], [kind for _, kinds in parts for kind in kinds]
    return [], [hint]


USUAL_OF_PLAN = ("--suite-name", "--only", "--filter", "--backend", "--test", "--accelerator", "--smoke", "--env")
"""Flags of planning that `--help` shows; `--help-all` shows all."""
_GROUPS: dict[type, str] = {
    Selection: "selection (without filters, everything is planned; filters may be repeated)",
    Configuration: "configuration",
    Protocol: "measurement",
}
_OF_PLAN = ("models_file", "plan", "env", "torchbench_dir")
"""Fields of `LocalRequest` that select experiments."""


def add_plan_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that select and configure experiments."""
    local = [field for field in flagged(LocalRequest) if field.name in _OF_PLAN]
    for kind in (Selection, Configuration):
        _add_all(parser, kind, [field for field in local if (field.flag.group or _GROUPS[Selection]) == _GROUPS[kind]])


def add_measure_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that set how a run measures and verifies, and which files it writes."""
    _add_all(parser, Protocol, [field for field in flagged(LocalRequest) if field.name not in _OF_PLAN])


def _add_all(parser: argparse.ArgumentParser, kind: type, more: Iterable[Field]) -> None:
    groups: dict[str, Any] = {}
    for field in (*flagged(kind), *more):
        title = field.flag.group or _GROUPS[kind]
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        _add(groups[title], field)


def _add(group: argparse._ActionsContainer, field: Field) -> None:
    """Add the flag of a field; the namespace has it only where it was given."""
    flag = field.flag

    def add(*names: str, text: str, **how: Any) -> None:
        group.add_argument(*names, dest=field.name, default=argparse.SUPPRESS, help=text.replace("%", "%%"), **how)

    if flag.texts is not None:
        for value, text in flag.texts.items():
            add(_dashed(value), text=text, action="append_const", const=value)
        return
    if field.switches:
        if flag.help:
            add(_dashed(field.name), *flag.names, text=flag.help, action="store_const", const=True)
        if flag.off is not None:
            add(flag.off[0], text=flag.off[1], action="store_const", const=False)
        return
    how: dict[str, Any] = {"choices": field.choices} if field.choices else {"metavar": field.metavar}
    how |= {"type": field.word.read}
    how |= {"nargs": "?", "const": flag.const} if flag.const is not None else {}
    how |= {"action": "append"} if field.many else {"action": _Once} if flag.once else {}
    add(_dashed(field.name), *flag.names, text=flag.help, **how)


class _Once(argparse.Action):
    """Take one value: PyTorch/XLA saves a process's graphs in one format, and the last would win in silence."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        earlier = getattr(namespace, self.dest, None)
        if isinstance(earlier, str) and earlier != values:
            parser.error(
                f"{option} {values}: a run saves one format, and {earlier} is already given; run once per format"
            )
        setattr(namespace, self.dest, values)


def read(parsed: argparse.Namespace) -> LocalRequest:
    """Return the request that parsed flags give.

    Raises:
        UsageError: values that contradict each other, or a file or folder that cannot be used.
    """
    values = vars(parsed)
    groups = {
        kind: {field.name: _value(field, values) for field in flagged(kind) if field.name in values} for kind in _GROUPS
    }
    local = {field.name: _value(field, values) for field in flagged(LocalRequest) if field.name in values}
    path = local.get("plan")
    request = RunRequest(
        selection=Selection(**groups[Selection]),
        configuration=Configuration(**groups[Configuration]),
        protocol=Protocol(**groups[Protocol]),
        plan=plan_file.read(path) if path is not None else None,
        environments=tuple(name for name, _ in local.get("env", ())),
    )
    typed = frozenset(name for group in (*groups.values(), local) for name in group)
    local_request = LocalRequest(request=request, given=typed, quick=values.get("quick", False), **local)
    check(local_request)
    return local_request


def _value(field: Field, values: dict[str, Any]) -> Any:
    value = values[field.name]
    if field.flag.texts is not None:
        return tuple(choice for choice in field.flag.texts if choice in value)
    return tuple(value) if field.many else value


def request_words(request: RunRequest) -> list[str]:
    """Return the flags of `xlabench run` that a request stands for; of its plan, nothing.

    Every value is part of its flag's own word, so none can become another flag.
    """
    groups = (request.protocol,) if request.plan else (request.selection, request.configuration, request.protocol)
    words = [
        word for group in groups for field in flagged(type(group)) for word in _words(field, getattr(group, field.name))
    ]
    return words + [f"--env={name}" for name in request.environments]


def _words(field: Field, value: Any) -> Iterator[str]:
    if value == field.default and type(value) is type(field.default):
        return
    if field.flag.texts is not None:
        yield from map(_dashed, value)
    elif value is True:
        yield _dashed(field.name)
    elif value is False:
        yield from (field.flag.off or ())[:1]
    else:
        for item in value if field.many else (value,):
            yield f"{_dashed(field.name)}={field.word.write(item)}"


def _dashed(name: str) -> str:
    return "--" + name.replace("_", "-")


def spaced(words: Iterable[str]) -> Iterator[str]:
    """Yield words with a flag and its value apart, as one types them; a value that begins with a dash stays with it."""
    for word in words:
        flag, equals, value = word.partition("=")
        yield from (flag, value) if flag.startswith("--") and equals and value[:1] not in ("-", "") else (word,)


def command_line(arguments: Sequence[str]) -> str:
    """Return the command as one types it."""
    return shlex.join(["xlabench", *arguments])


def check_values(request: RunRequest) -> None:
    """Check each value as its flag does: what its type cannot say, as that a suite of this name exists.

    Raises:
        ValueError: a flag does not take a value.
    """
    for group in (request.selection, request.configuration, request.protocol):
        for field in flagged(type(group)):
            value = getattr(group, field.name)
            for item in value if field.many else () if value is None or field.switches else (value,):
                field.check(item)
