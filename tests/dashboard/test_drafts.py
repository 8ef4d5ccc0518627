"""Drafts of issues on the pages: offered where there is a fault, made when they are asked for."""

import pytest

from dashboard import settings
from dashboard.ui import downloads
from store import query
from store.repro.fault import ScriptOutcome, write_draft
from store.repro.find import faults
from tests.dashboard.opened import open_page

LABEL = "Draft of an issue"


def labels(at):
    return [button.proto.label for button in at.get("download_button")]


def test_a_failure_offers_a_draft_and_a_clean_result_none(monkeypatch, demo):
    failed = open_page(monkeypatch, demo, "model", model=["dcgan"], test=["train"])
    assert labels(failed).count(LABEL) == 1
    clean = open_page(monkeypatch, demo, "model", model=["resnet18"], test=["eval"], result=["eager"])
    assert LABEL not in labels(clean)


def test_an_op_offers_its_draft(monkeypatch, review_store):
    at = open_page(monkeypatch, review_store, "fallback-ops", op=["nonzero"])
    assert labels(at).count(LABEL) == 1


@pytest.mark.parametrize(
    ("changes", "faulty"),
    [
        ({}, False),
        ({"status": "compile_error", "error": {"phase": "compile"}}, True),
        ({"status": "load_error", "error": {"phase": "load"}}, False),
        ({"status": "timeout", "error": {"phase": "load"}}, False),
        ({"status": "skipped"}, False),
        ({"verification_code": "FAIL"}, True),
        ({"fallback_ops": [{"op": "nonzero"}]}, True),
        ({"graph_breaks": [{"reason": "print"}]}, True),
    ],
)
def test_a_record_is_faulty_where_the_store_finds_a_fault(changes, faulty):
    assert downloads.is_faulty({"status": "ok", "error": None, "verification_code": "PASS", **changes}) is faulty


def test_the_button_finds_the_faults_that_the_store_does(review_store):
    """For every result of the kept runs."""
    import json

    with query.connect(query.current_snapshot(review_store)) as con:
        rows = query.fetch(con, "SELECT record_id, record FROM results WHERE record IS NOT NULL AND model LIKE '%n%'")
        offered = {row["record_id"] for row in rows if downloads.is_faulty(json.loads(row["record"]))}
        known = {row["record_id"] for row in rows} & _faulty(con)
    assert offered == known


def _faulty(con):
    rows = query.fetch(
        con,
        "SELECT record_id FROM fallback_ops UNION SELECT record_id FROM graph_breaks "
        "UNION SELECT record_id FROM result_rows WHERE verification_code = 'FAIL' OR (error_signature IS NOT NULL "
        "AND status <> 'load_error' AND failure_phase IS DISTINCT FROM 'load')",
    )
    return {row["record_id"] for row in rows}


def test_what_is_downloaded_is_the_draft_that_lies_in_the_home(monkeypatch, review_store, tmp_path):
    monkeypatch.setenv(settings.STATE_VARIABLE, str(tmp_path / "state.sqlite"))
    snapshot = str(query.current_snapshot(review_store))
    made = downloads._draft_maker(snapshot, {"op": "nonzero"})
    assert b"No script has been run for this draft" in made()
    with query.connect(snapshot) as con:
        [fault] = faults(con, op="nonzero")
    proof = ScriptOutcome(
        outcome="shown", what="one call", script="print('SHOWN: it')", output="SHOWN: it", seconds=1.0,
        at=fault.last_started, versions="torch 2.9.1",
    )  # fmt: skip
    write_draft(tmp_path / "repros", fault, proof)
    assert b"print('SHOWN: it')" in made()
