"""Runs of many tests in one store: each as of a machine of its own, and all ingested at once."""

import msgspec
import pytest

from tests.store.factory import DAY, MACHINE, RUN_START


class Scenes(list):
    """The runs of the tests of a module, each its records and what else was planned."""

    def scene(self, *records, planned=()):
        """Give a test the id of a run of these records."""
        run = f"run-{len(self) + 1}"
        self.append(([moved(record, run) for record in records], planned))
        return pytest.mark.parametrize("run", [run])

    def several(self, *runs, planned=()):
        """Give a test the ids of runs of these records, of one machine but for records that name another one."""
        ids = [f"run-{len(self) + number}" for number in range(1, len(runs) + 1)]
        for run, records in zip(ids, runs, strict=True):
            self.append(([moved(record, run, _machine(record, ids[0])) for record in records], planned))
        return pytest.mark.parametrize("runs", [ids])

    def days(self, *days, planned=()):
        """Give a test the ids of runs of one day after the other: makers of their records, as of `factory.later`."""
        starts = (RUN_START + number * DAY for number in range(1, len(days) + 1))
        made = ([make_one(timestamp=start) for make_one in day] for start, day in zip(starts, days, strict=True))
        return self.several(*made, planned=planned)


def _machine(record, of_scene):
    own = record.environment.machine_id
    return of_scene if own == MACHINE else f"{of_scene} {own}"


def moved(record, run, machine=None):
    """Return a record as one of another run, on another machine: that of the run where none is named."""
    return msgspec.structs.replace(
        record,
        record_id=f"{record.record_id}-{run}",
        twin_of=record.twin_of and f"{record.twin_of}-{run}",
        run=msgspec.structs.replace(record.run, run_id=run),
        environment=msgspec.structs.replace(record.environment, machine_id=machine or run),
    )
