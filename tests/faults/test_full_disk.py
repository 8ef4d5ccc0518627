"""A disk that is full at any moment of an ingest: one sentence, the old snapshot stays, and nothing is lost."""

import json
import shutil
import sys

import pytest

from store.ingest import ingest
from tests.faults.fault_rows import add_row
from tests.faults.full_disk_sweep import KINDS
from tests.faults.test_leftovers import on_a_small_disk
from tests.store.factory import demo_records, write_run
from tests.tiers import first_of

ENOUGH_KIB = 12_000
"""With so much room an ingest of these runs ends well."""

pytestmark = [pytest.mark.faults, pytest.mark.slow]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with three publications, and a run that its index lacks."""
    home = tmp_path_factory.mktemp("home")
    for number in range(4):
        write_run(home / "runs" / f"run-{number}", demo_records(f"run-{number}", 1.7e9 + 1e5 * number, 1.0, "many"))
        ingest([home / "runs"], home / ("expected" if number == 3 else "store"))
    return home


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("steps", [3, pytest.param(100, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("kind", first_of(KINDS))
def test_a_full_disk_at_any_moment_loses_nothing(home, tmp_path, kind, steps):
    if shutil.which("unshare") is None or on_a_small_disk(tmp_path, "true").returncode:
        pytest.skip("this system lets nobody mount a small disk")
    words = [sys.executable, "-m", "tests.faults.full_disk_sweep", str(home), str(tmp_path)]
    words += [str(ENOUGH_KIB), str(steps), kind]
    done = on_a_small_disk(tmp_path, *words, size="64m", timeout_s=1800)
    assert done.returncode == 0, done.stderr
    tried = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["ended"] for each in (tried[0], tried[-1])] == ["no room", "ingested"]
    for each in tried:
        assert each["ended"] == "ingested" or "is full" in each["said"], each
        assert each["readable"], each
        assert each["same"], each
        assert not each["left"], each
    full_n = sum(each["ended"] == "no room" for each in tried)
    add_row(f"a full disk at any moment: {kind}", full_n, "one sentence, the old snapshot stays", lost=0, doubled=0)
