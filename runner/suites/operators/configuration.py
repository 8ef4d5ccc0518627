"""A configuration in PARAM's form, made of operators: the way back from cases to a file. Imports no torch."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from runner.suites.operators.document import DEFAULT_GENERATOR

if TYPE_CHECKING:
    from collections.abc import Iterable

    from store.record import Operator

_REPEATED = re.compile(r" #(\d+)( discrete)?( cold L2)?$")


def content_of(operators: Iterable[Operator]) -> dict[str, Any]:
    """Return the content of a file that holds these operators; each case is a `config` of its own operator."""
    content: dict[str, Any] = {}
    for operator in operators:
        info = content.setdefault(
            operator.name,
            {
                "build_data_generator": operator.build_data_generator or DEFAULT_GENERATOR,
                "input_data_generator": operator.input_data_generator or DEFAULT_GENERATOR,
                "config": [],
            },
        )
        build = {} if operator.build is None else {"build": [operator.build] if operator.build else []}
        info["config"].append({**build, "input": [operator.input]})
    return content


def text_of(operator: Operator, name: str) -> str:
    """Return the JSON of a configuration whose last case is this operator under this name.

    A file that asks for the same call again gives it the name `… #2`: so does this one.
    """
    found = _REPEATED.search(name)
    return json.dumps(content_of([operator] * (int(found[1]) if found else 1)), separators=(",", ":"))
