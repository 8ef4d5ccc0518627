"""Records that arrive one by one give the results that they give together, and only what they change is made anew."""

import random

import msgspec
import pytest

from store import changepoints
from store.ingest import ingest, load
from tests.store.contents import contents
from tests.store.factory import make_record, write_run
from tests.tiers import first_of

MODELS, BACKENDS = ("resnet18", "vgg16"), ("eager", "inductor")


def _append(folder, record):
    with (folder / "results.jsonl").open("ab") as file:
        file.write(msgspec.json.encode(record) + b"\n")


def _records():
    """Return two attempts of two groups, the first with replicas, and records that give no times."""
    timed = [
        make_record(model=model, backend=backend, attempt=attempt, replica=replica, per_iter=[0.01 * attempt] * 8)
        for attempt in (1, 2)
        for model in MODELS
        for backend in BACKENDS
        for replica in range(3 - attempt)
    ]
    return [
        *timed,
        make_record(model="vgg16", attempt=3, status="crashed"),
        make_record(model="vgg16", purpose="calibration"),
        make_record(model="vgg16", purpose="calibration", replica=1),
        make_record(twin_of=timed[2].record_id, per_iter=[0.02] * 8),
        make_record(model="dcgan", backend="eager", status="verify_only", verification_code="PASS"),
    ]


COMPARED = (17,)
STALE, ALL = load.MOST_STALE, 0
"""Records of a batch up to which single results are made anew; of a longer one, all results of its runs are."""


@pytest.fixture(scope="module")
def shuffled():
    records = _records()
    random.Random(20261125).shuffle(records)
    assert len(records) == COMPARED[-1]
    return records


@pytest.fixture(scope="module")
def together(shuffled, tmp_path_factory):
    """The folder of a run, and what its first records give, ingested at once, by their number."""
    home, found = tmp_path_factory.mktemp("together"), {}
    folder = write_run(home / "run", shuffled)
    lines = (folder / "results.jsonl").read_bytes().splitlines(keepends=True)
    for number in COMPARED:
        (folder / "results.jsonl").write_bytes(b"".join(lines[:number]))
        ingest([folder], home / str(number))
        found[number] = contents(home / str(number))
    return folder, found


@pytest.mark.parametrize(
    "batches",
    first_of(
        [
            {6: STALE, 11: ALL, 17: STALE},
            dict.fromkeys((4, 8, 9, 12, 16, 17), ALL),
            dict.fromkeys(range(1, 18), STALE),
        ]
    ),
    ids=["mixed", "whole runs made anew", "one by one"],
)
def test_records_by_and_by_give_the_results_of_all_together(tmp_path, monkeypatch, shuffled, together, batches):
    """Some batches make single results anew, some all of their runs."""
    folder, expected = together
    (folder / "results.jsonl").write_bytes(b"")
    for number, record in enumerate(shuffled, start=1):
        _append(folder, record)
        if number in batches:
            monkeypatch.setattr(load, "MOST_STALE", batches[number])
            ingest([folder], tmp_path / "store")
        if number in COMPARED:
            assert contents(tmp_path / "store") == expected[number]


def test_a_record_changes_the_results_of_its_group_only(tmp_path):
    timed = [make_record(model=model, backend=backend) for model in (*MODELS, "dcgan") for backend in BACKENDS]
    folder = write_run(tmp_path / "run", timed)
    ingest([folder], tmp_path / "store")
    assert changepoints.update(tmp_path / "store", tmp_path / "state.sqlite") == 6
    _append(folder, make_record(model="vgg16", attempt=2))
    ingest([folder], tmp_path / "store")
    assert changepoints.update(tmp_path / "store", tmp_path / "state.sqlite") == len(BACKENDS)
