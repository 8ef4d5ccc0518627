"""An experiment that was verified and not timed has neither failed nor run, and is never lost from a count."""

import pytest

from store.verification import UNVERIFIED
from tests.store.factory import make_record, write_run


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    """Inductor verified only, one right and one wrong; eager timed and verified."""
    from store import query
    from store.ingest import ingest

    records = [
        make_record(model="resnet18", status="verify_only", per_iter=(), verification_code="PASS"),
        make_record(model="vgg16", status="verify_only", per_iter=(), verification_code="FAIL"),
        make_record(model="resnet18", backend="eager", verification_code="PASS"),
    ]
    folder = tmp_path_factory.mktemp("verified")
    write_run(folder / "run", records)
    with query.connect(ingest([folder / "run"], folder / "store").snapshot) as connection:
        yield connection


def test_it_has_no_time_and_a_reason(con):
    found = con.execute("SELECT status, ran, latency_s, reason, failure_phase FROM results WHERE backend = 'inductor'")
    assert set(found.fetchall()) == {("verify_only", False, None, "it was verified, not timed", None)}


def test_it_is_counted_apart_from_failures(con):
    found = con.execute(
        """SELECT planned_n, ran_n, failed_n, verify_only_n, answered_n, verified_n, verify_asked FROM run_status
        ORDER BY backend"""
    ).fetchall()
    assert found == [(1, 1, 0, 0, 1, 1, True), (2, 0, 0, 2, 2, 1, True)]
    assert con.execute("SELECT ran_n, failed_n, verify_only_n FROM runs").fetchone() == (1, 0, 2)


def test_it_has_no_part_in_a_geomean_and_is_no_failure_there(con):
    found = con.execute(
        "SELECT n, geomean, failed, answered_n, verified_n FROM geomeans('eager', NULL) WHERE backend = 'inductor'"
    ).fetchone()
    assert found == (0, None, [], 2, 1)


def test_a_speedup_says_why_there_is_none(con):
    found = con.execute(
        "SELECT DISTINCT speedup, speedup_reason FROM speedups('eager', NULL) WHERE backend = 'inductor'"
    )
    assert found.fetchall() == [(None, "it was verified, not timed")]


def test_codes_without_a_verdict_are_those_of_the_views():
    """The views ask for them by name to tell whether a run was verified at all."""
    from importlib.resources import files

    text = (files("store") / "views" / "base.sql").read_text()
    assert all(f"'{code}'" in text for code in UNVERIFIED)
