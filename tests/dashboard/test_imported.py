"""What the records of another tool do not say is not known, and nobody is told to measure it here."""

import pytest

from dashboard import data
from dashboard.view import ViewSelection
from store import query
from store.ingest import ingest
from tests.dashboard.opened import seen, text
from tests.store.peer_records import peer_record, write_peer


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """The store of two models that PyTorch/XLA's runner measured."""
    folder = tmp_path_factory.mktemp("imported")
    records = [
        peer_record(model, backend) | {"verification_code": "VERIFIER_SKIPPED"}
        for model in ("alexnet", "dcgan")
        for backend in ("inductor", "openxla+dynamo")
    ]
    ingest([write_peer(folder / "results.jsonl", records)], folder / "store")
    return folder / "store"


def of_dcgan(imported, part):
    return text(seen(imported, "model", model=["dcgan"], result=["openxla+dynamo"], part=[part]))


def test_calls_that_were_not_counted_are_not_none(imported):
    assert "No result of an XLA backend was measured by xlabench in this view" in text(seen(imported, "fallback-ops"))
    said = of_dcgan(imported, "Fallback ops")
    assert said.count("Not known: another tool measured the result.") == 2
    assert "None: " not in said


def test_an_op_is_not_gone_where_nobody_counted(imported):
    snapshot = str(query.current_snapshot(imported))
    [run] = data.runs(snapshot)["run_id"]
    assert data.rows(snapshot, "op_history", ViewSelection(run, "inductor"), op="nonzero", most_runs=60).empty


def test_what_is_not_verified_cannot_be_verified_here(imported):
    said = of_dcgan(imported, "Verification")
    assert "The answer was not compared" in said
    assert "--verify" not in said


def test_models_whose_fallback_ops_nobody_counted_are_not_among_those_without_any(imported):
    at = seen(imported, only=["no fallback ops"])
    assert "2 models left out: no result says whether there are any fallback ops." in text(at)
    assert "alexnet" not in text(at)
