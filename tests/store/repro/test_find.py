"""Faults of the runs under tests/data/review: which there are, and what each says."""

import pytest

from store import query
from store.errors import UsageError
from store.repro.find import faults
from tests.store import factory


def test_every_kind_is_found_once_per_text(found):
    assert {fault.kind for fault in found} == {"fallback_op", "graph_break", "failure", "wrong_answer"}
    assert len({fault.fault_id for fault in found}) == len(found)
    assert len({(fault.kind, fault.signature) for fault in found}) == len(found)


def test_a_fallback_op_counts_all_its_results(con):
    [fault] = faults(con, op="aten::nonzero")
    [row] = query.fetch(
        con,
        "SELECT count(DISTINCT record_id) AS results_n, min(run_started) AS first "
        "FROM fallback_ops WHERE op = 'nonzero'",
    )
    assert (fault.results_n, fault.first_started) == (row["results_n"], row["first"])
    assert fault.models == ["dummy/dummy_nonzero"]
    assert fault.record["model"]["model_name"] == "dummy_nonzero"
    assert faults(con, op="nonzero")[0].fault_id == fault.fault_id


def test_a_model_of_a_packaged_suite_goes_before_a_newer_one_of_a_user(con):
    """Its script stands alone."""
    [fault] = faults(con, op="_local_scalar_dense")
    assert "troubled/reads_a_value" in fault.models
    assert fault.model == "huggingface/LlamaForCausalLM_tiny"


def test_a_record_gives_its_own_faults_and_shows_them(con):
    """Counts stay those of the whole store."""
    [row] = query.fetch(
        con,
        "SELECT record_id FROM result_rows WHERE model = 'dummy_nonzero' AND backend = 'openxla+dynamo' "
        "AND ran ORDER BY run_started LIMIT 1",
    )
    found = faults(con, record=row["record_id"])
    assert [fault.kind for fault in found] == ["fallback_op", "graph_break"]
    assert {fault.record_id for fault in found} == {row["record_id"]}
    assert all(fault.results_n > 1 for fault in found)


def test_any_replica_names_its_result(con):
    [row] = query.fetch(
        con,
        "SELECT any_value(r.record_id) AS record_id FROM records AS r WHERE r.replica = 1 AND r.purpose = 'benchmark' "
        "AND r.record_id NOT IN (SELECT record_id FROM result_rows WHERE record_id IS NOT NULL)",
    )
    assert isinstance(faults(con, record=row["record_id"]), list)


def test_a_run_narrows_what_is_listed(con, found):
    [run] = query.fetch(con, "SELECT run_id FROM runs WHERE run_label = 'fallbacks'")
    of_run = faults(con, run=run["run_id"])
    assert 0 < len(of_run) < len(found)
    everywhere = {fault.fault_id: fault for fault in found}
    assert all(fault.results_n == everywhere[fault.fault_id].results_n for fault in of_run)


def test_what_could_not_be_built_is_no_fault(found):
    assert not any("cannot_be_built" in model for fault in found for model in fault.models)


@pytest.mark.parametrize("wanted", [{"record": "no"}, {"op": "no"}, {"fault_id": "no"}, {"run": "no"}])
def test_what_there_is_not_is_said(con, wanted):
    with pytest.raises(UsageError, match="'no'"):
        faults(con, **wanted)


def test_a_message_is_known_by_what_does_not_vary(stored_runs):
    """Two models, one text but for numbers: one fault, whose fragments any of its messages holds in their order."""
    message = "cannot allocate {} bytes at 0x7f{}a9c for the tensor of {}, sorry about that"
    records = [
        factory.later(model=model, backend="inductor", status="run_error", message=message.format(n, n, model))
        for n, model in enumerate(("resnet18", "mobilenet_v2"), start=40)
    ]
    con = stored_runs(records)
    [fault] = faults(con)
    assert fault.results_n == 2
    assert fault.models == ["torchbench/mobilenet_v2", "torchbench/resnet18"]
    assert fault.fragments() == ["cannot allocate", "for the tensor of", ", sorry about that"]
