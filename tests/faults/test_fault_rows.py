"""What counts the leftovers of tests of faults finds a process that outlives its parent, and a file that stays."""

import os
import signal
import subprocess
import tempfile

import pytest

from tests.faults import fault_rows


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(fault_rows, "_GONE_WITHIN_S", 0.2)
    monkeypatch.setattr(fault_rows, "_rows", [])


def test_an_orphan_fails_a_test_that_tells():
    began = fault_rows.now()
    done = subprocess.run(["sh", "-c", "sleep 60 > /dev/null & echo $!"], stdout=subprocess.PIPE, text=True, check=True)
    try:
        fault_rows.look_for_orphans(began)  # nothing was told
        fault_rows.add_row("one", 1, "x")
        with pytest.raises(AssertionError, match=f"{done.stdout.strip()} sleep 60"):
            fault_rows.look_for_orphans(began)
        fault_rows.look_for_orphans(fault_rows.now() + 1)  # what an earlier test has left
    finally:
        os.kill(int(done.stdout), signal.SIGKILL)
    fault_rows.look_for_orphans(began)


def test_a_file_that_stays_fails_a_test_that_tells(tmp_path, monkeypatch):
    monkeypatch.setenv("XLABENCH_FAULTS", str(tmp_path / "told"))
    before = fault_rows.files()
    with tempfile.NamedTemporaryFile(prefix="stays") as file:
        fault_rows.look_for_files(before)  # nothing was told
        fault_rows.add_row("one", 1, "x", lost=0)
        with pytest.raises(AssertionError, match="stays"):
            fault_rows.look_for_files(before)
        assert file.name
    assert not (tmp_path / "told").exists()
    fault_rows.add_row("one", 1, "x", lost=0)
    fault_rows.look_for_orphans(fault_rows.now())
    fault_rows.look_for_files(before)
    assert (tmp_path / "told").read_text() == (
        '{"fault": "one", "tries": 1, "lost": 0, "doubled": null, "message": "x", "orphaned": 0, "leaked": 0}\n'
    )
