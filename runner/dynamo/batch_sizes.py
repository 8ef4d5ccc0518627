"""The harness's `--batch-size-file`: a batch size per model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from runner.plan.entries import make_entry
from runner.plan.models_file import read_models_file

if TYPE_CHECKING:
    from pathlib import Path

    from runner.plan import Plan


def apply(path: Path, made: Plan) -> Plan:
    """Return the plan with the file's batch sizes; a model that it does not name keeps its own.

    Raises:
        UsageError: a line is neither `NAME,N` nor `NAME N`.
    """
    sizes = {line.name: line.batch_size for line in read_models_file(path) if line.batch_size}
    entries = []
    for entry in made.entries:
        size = sizes.get(entry.config.model_name)
        if size is None:
            entries.append(entry)
            continue
        config = msgspec.structs.replace(entry.config, batch_size=size)
        entries.append(make_entry(config, entry.environment, entry.skip_reason, entry.notes))
    return replace(made, entries=tuple(entries))
