"""An ingest of many runs writes no more to the disk than a small multiple of what it reads."""

import threading

import pytest

from store.ingest import ingest
from tests.performance.store_parts import records

RECORDS, CALIBRATION_RECORDS = 100_000, 20_000
"""At which DuckDB once chose to pair the rounds of all A/A processes with each other: 37 GB on the disk."""


def as_calibration(folder):
    for name, old, new in (
        ("results.jsonl", '"purpose":"benchmark"', '"purpose":"calibration"'),
        ("run.json", '"settings":{', '"settings":{"purpose":"calibration",'),
    ):
        (folder / name).write_text((folder / name).read_text().replace(old, new))
    return folder


def size(folder):
    """Return the bytes of all files that stay long enough to be looked at."""
    found = 0
    for path in folder.rglob("*"):
        try:
            found += path.stat().st_size
        except FileNotFoundError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.thorough
def test_pairs_of_many_processes_are_made_in_little_space(tmp_path):
    paths = records.write(tmp_path, RECORDS, runs=200)
    paths += map(as_calibration, records.write(tmp_path / "calibrations", CALIBRATION_RECORDS, runs=5, seed=1))
    read = sum((path / "results.jsonl").stat().st_size for path in paths)
    done, most = threading.Event(), [0]

    def watch():
        while not done.wait(0.2):
            most[0] = max(most[0], size(tmp_path / "store"))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        ingest(paths, tmp_path / "store")
    finally:
        done.set()
        watching.join()
    assert 0 < most[0] < 3 * read
