"""Runs of many tests in one store: each its own run, as of a machine of its own, and all ingested at once."""

from __future__ import annotations

import msgspec
import pytest


class Scenes(list):
    """The runs of the tests of a module, each its records and what else was planned."""

    def scene(self, *records, planned=()):
        """Give a test the id of a run of these records."""
        run = f"run-{len(self) + 1}"
        self.append(([moved(record, run) for record in records], planned))
        return pytest.mark.parametrize("run", [run])


def moved(record, run, machine=None):
    """Return a record as one of another run, on another machine: that of the run where none is named."""
    return msgspec.structs.replace(
        record,
        record_id=f"{record.record_id}-{run}",
        twin_of=record.twin_of and f"{record.twin_of}-{run}",
        run=msgspec.structs.replace(record.run, run_id=run),
        environment=msgspec.structs.replace(record.environment, machine_id=machine or run),
    )
