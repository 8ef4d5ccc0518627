"""What a process costs: its share of the time in which those of its group took turns."""

import pytest

from store.compare.settle import process_seconds
from store.record import MachineState
from tests.store.factory import make_record


def made(backend="eager", *, watched, own, order="interleaved", **changes):
    """Return a process that worked for `own` seconds while it was watched for `watched`."""
    record = make_record(backend=backend, per_iter=[0.1] * 5, first=own - 0.5, warmup=(), **changes)
    record.machine = MachineState(seconds=watched)
    record.measurement.order = order
    return record


def costs(*records):
    groups = {record.key: "g" for record in records}
    found = process_seconds(records, groups)
    return {record.variant: found.get(record.key) for record in records}


def test_who_took_turns_shares_the_time_of_all_by_its_own_work():
    """24 s in which one worked for 9 s and the other for 3 s."""
    found = costs(made("inductor", watched=24, own=9), made("eager", watched=10, own=3))
    assert found == pytest.approx({"inductor": 18, "eager": 6})


def test_who_ran_alone_cost_what_it_took():
    found = costs(made("inductor", watched=12, own=9, order="rounds"), made("eager", watched=4, own=3, order="rounds"))
    assert found == {"inductor": 12, "eager": 4}


def test_it_is_the_mean_over_the_processes_of_the_newest_attempt():
    records = [made(watched=99, own=9, attempt=1), *(made(watched=w, own=3, attempt=2, replica=w) for w in (4, 6))]
    assert costs(*records) == {"eager": 5}


def test_a_process_that_failed_tells_nothing():
    failed = make_record(status="crashed")
    failed.machine = MachineState(seconds=3.0)
    assert costs(failed) == {"inductor": None}
