"""`--dynamo-config` and `--inductor-config`: set a compiler's own settings, with values of the type they have."""

from __future__ import annotations

import ast
import functools
import importlib
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_MODULES = {"dynamo": "torch._dynamo.config", "inductor": "torch._inductor.config"}
_WORDS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


class BadOverride(ValueError):
    """A setting that the compiler does not have, or a value that does not fit it."""


def apply(overrides: Mapping[str, str]) -> None:
    """Set each `dynamo.KEY` or `inductor.KEY` in this process.

    Raises:
        BadOverride: no such setting, or a value of another type.
    """
    for name, text in overrides.items():
        room, _, key = name.partition(".")
        module = importlib.import_module(_MODULES[room])
        # Its own table also knows names that are aliases of newer ones.
        known: Any = module._config  # noqa: SLF001 - there is no public list of them
        if key not in known:
            close = get_close_matches(key, known, n=3)
            hint = f"did you mean {' or '.join(close)}?" if close else f"see the source of {_MODULES[room]}."
            raise BadOverride(f"--{room}-config {key}: {_MODULES[room]} has no setting {key}; {hint}")
        *path, last = key.split(".")
        owner = functools.reduce(getattr, path, module)
        setattr(owner, last, parsed(f"--{room}-config {key}", text, getattr(owner, last)))


def parsed(flag: str, text: str, present: Any) -> Any:
    """Return the text as a value of the type that the setting has; where that is None, as a literal or a text."""
    if isinstance(present, bool):
        if text.lower() not in _WORDS:
            raise BadOverride(f"{flag}={text}: the value must be True or False")
        return _WORDS[text.lower()]
    if isinstance(present, str):
        return text.strip("'\"") if text != "None" else None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = text
    if present is None or value is None:
        return value
    if isinstance(present, float) and isinstance(value, int):
        return float(value)
    if not isinstance(value, type(present)) or isinstance(value, bool):
        raise BadOverride(
            f"{flag}={text}: the value must be of type {type(present).__name__}, like the default {present!r}"
        )
    return value
