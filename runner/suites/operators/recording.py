"""The operators of a model or a trace: which calls with which arguments, and how often. Imports no torch."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runner.suites.operators.document import DEFAULT_GENERATOR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SCHEMA = "aten::"


@dataclass
class Recording:
    """Calls in the order in which each came first, with their counts."""

    calls: dict[str, int] = field(default_factory=dict)
    """A call as JSON → how often it was made."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Calls that are no operators to be measured, by the reason."""

    def add(self, schema: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Count a call; its arguments stand as a configuration has them."""
        key = json.dumps([schema, list(args), dict(kwargs)], sort_keys=True)
        self.calls[key] = self.calls.get(key, 0) + 1

    def content(self, model: str, test: str) -> dict[str, Any]:
        """Return a configuration in PARAM's form.

        Args:
            model: as `SUITE/NAME`, or the name of a trace; it stands in `used_by` of each input, with the calls.
            test: of the model.
        """
        found: dict[str, Any] = {}
        for key, count in self.calls.items():
            schema, args, kwargs = json.loads(key)
            name = schema.partition("(")[0].partition(".")[0]
            info = {"build_data_generator": DEFAULT_GENERATOR, "input_data_generator": DEFAULT_GENERATOR, "config": []}
            used_by = {"model": model, "test": test, "calls": count}
            given = {"args": args, "kwargs": kwargs, "used_by": used_by}
            build = [{"args": [{"type": "str", "value": schema}], "kwargs": {}}]
            configs: Any = found.setdefault(name, info)["config"]
            configs.append({"build": build, "input": [given]})
        return found


def is_measured(schema: str) -> bool:
    """Say whether an op by schema is one of aten's: others may not be there where it is measured."""
    return schema.startswith(_SCHEMA)
