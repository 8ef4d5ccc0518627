"""Pages of a run whose samples were pruned: every number that is a result, and a sentence where samples would be."""

import time

from store.ingest import ingest
from store.retention import prune_run
from store.run_file import Pruned
from tests.dashboard.opened import open_page, tables, text

ONE = {"suite": ["torchbench"], "model": ["resnet18"], "test": ["eval"]}


def test_results_stay_and_missing_samples_have_a_date(monkeypatch, factory, tmp_path):
    store = tmp_path / "store"
    records = [factory.make_record(backend=backend) for backend in ("inductor", "eager")]
    run = factory.write_run(tmp_path / "runs" / "run-1", records)
    ingest([run], store)
    before = tables(open_page(monkeypatch, store, "model", **ONE))[0]
    prune_run(run, Pruned(run_id="run-1", pruned_at=time.time(), who="ann", rule="", packed={}))
    ingest([run], store)
    at = open_page(monkeypatch, store, "model", **ONE, result=["inductor"])
    assert tables(at)[0].equals(before)
    at.session_state["part"] = "Samples"
    at.run()
    assert not at.exception
    assert "Samples pruned on 20" in text(at)
    at = open_page(
        monkeypatch, store, "compile-time", compile_chart=["First blocks"], blocks_of=["resnet18 · eval · torchbench"]
    )
    assert not at.exception
    assert "Samples pruned on 20" in text(at)
