"""Texts that mean something to a shell, a database, a browser, a file system or a template."""

from collections.abc import Iterator
from typing import Any

import msgspec

from runner.jobs.request import Configuration, ConfirmRequest, Protocol, RunRequest, Selection

EVIL = {
    "shell": "x; touch /tmp/evil $(id) `id` | sh &",
    "flag": "--home=/tmp/evil",
    "path": "../../../../etc/passwd",
    "absolute path": "/etc/passwd",
    "dots": "..",
    "SQL": "x'; DROP TABLE jobs; --",
    "HTML": "<img src=x onerror=alert(1)>",
    "template": "{{7*7}}${7*7}%(x)s{0.__class__}",
    "code": "__import__('os').system('id')",
    "lines": "x\nrun\r\n--home=/tmp/evil",
    "terminal": "x\x1b]0;owned\x07",
    "direction": "x\u202egnp.exe",
    "NUL": "x\0y",
    "long": "x" * 100_000,
}
GROUPS = {"selection": Selection, "configuration": Configuration, "protocol": Protocol}
SEARCHED = ("filter", "exclude")
"""Patterns are matched with names only, so blanks, slashes and dots mean nothing there."""


def fields() -> Iterator[tuple[str, str]]:
    """Yield each field of a request to run, as group and name; fields of the request itself have no group."""
    for group, kind in GROUPS.items():
        yield from ((group, name) for name in kind.__struct_fields__)
    yield from (("", name) for name in RunRequest.__struct_fields__ if name not in GROUPS)


def rows(group: str, name: str, evil: str) -> Iterator[dict[str, Any]]:
    """Yield requests that have a text in a field, in every shape that JSON has."""
    for value in (evil, [evil], [[evil]], [[evil, "1"]], [["x", evil]], {evil: evil}):
        yield {"kind": "run", group: {name: value}} if group else {"kind": "run", name: value}


def confirming(name: str, evil: str) -> Iterator[dict[str, Any]]:
    """Yield the same of a confirmation."""
    for value in (evil, [evil]):
        yield {"kind": "confirm", "old": "a", "new": "b"} | {name: value}


CONFIRMING = ConfirmRequest.__struct_fields__


def of_python(group: str, name: str, evil: str) -> RunRequest:
    """Return a request that a page's code made of a text without looking at it: structs check when they are read."""
    if not group:
        return RunRequest(**{name: (evil,) if name == "environments" else evil})
    kind = GROUPS[group]
    is_list = isinstance(msgspec.structs.fields(kind)[kind.__struct_fields__.index(name)].default, tuple)
    return RunRequest(**{group: kind(**{name: (evil,) if is_list else evil})})
