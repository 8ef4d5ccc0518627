"""A request as the words of a command: the only way from what somebody asked for to what is executed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

from runner.flags.types import percent_text
from runner.jobs.request import ConfirmRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.jobs.request import Request, RunRequest

_OFF = {"cudagraphs": "--disable-cudagraphs", "keep_model_data_on_cuda": "--trace-on-xla"}
_PAIRS = ("dynamo_config", "inductor_config")


def words(request: Request) -> list[str]:
    """Return the words behind `xlabench`; every value stands in its flag's own word, so none can become another flag.

    Args:
        request: a checked one; where it has a plan, `--plan` is left to whoever writes that file.
    """
    if isinstance(request, ConfirmRequest):
        return _confirm_words(request)
    return ["run", *flag_words(request)]


def flag_words(request: RunRequest) -> list[str]:
    """Return the flags of `xlabench run` that a request stands for; of its plan, nothing."""
    groups = (request.protocol,) if request.plan else (request.selection, request.configuration, request.protocol)
    found = [word for group in groups for word in _group_words(group)]
    return found + [f"--env={name}" for name in request.environments]


def _confirm_words(request: ConfirmRequest) -> list[str]:
    found = ["compare", request.old, request.new, f"--confirm={request.cells}"]
    found += [f"--run={request.run}"] if request.run else []
    found += [f"--experiment={each}" for each in request.experiments]
    return found + ([f"--processes={request.processes}"] if request.processes else [])


def _group_words(group: msgspec.Struct) -> Iterator[str]:
    for field in msgspec.structs.fields(group):
        value = getattr(group, field.name)
        if value == field.default and type(value) is type(field.default):
            continue
        yield from _words(field.name, value)


def _words(name: str, value: object) -> Iterator[str]:
    flag = "--" + name.replace("_", "-")
    if name == "instruments" and isinstance(value, tuple):
        yield from ("--" + each.replace("_", "-") for each in value)
    elif isinstance(value, tuple):
        yield from (f"{flag}={_text(name, each)}" for each in value)
    elif value is True:
        yield flag
    elif value is False:
        yield _OFF[name]
    else:
        yield f"{flag}={_text(name, value)}"


def _text(name: str, value: object) -> str:
    if name in _PAIRS and isinstance(value, tuple):
        return "=".join(value)
    if name == "without_fallback" and isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, tuple):
        return shlex.join(value) if value else "None"
    if name == "until_stable" and isinstance(value, float):
        return percent_text(value)
    return str(value)
