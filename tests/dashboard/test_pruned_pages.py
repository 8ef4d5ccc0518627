"""Pages of a run whose samples were pruned: every number that is a result, and a sentence where samples would be."""

from __future__ import annotations

import time

from store.ingest import ingest
from store.retention import prune_run
from store.run_file import Pruned
from tests.dashboard.opened import open_page, tables, text

ONE = {"suite": ["torchbench"], "model": ["resnet18"], "test": ["eval"]}


def test_results_stay_and_missing_samples_have_a_date(monkeypatch, factory, tmp_path):
    store = factory.demo_store(tmp_path)
    before = tables(open_page(monkeypatch, store, "model", **ONE))[0]
    for run_id in ("11111111-aaaa", "22222222-bbbb"):
        decision = Pruned(run_id=run_id, pruned_at=time.time(), who="ann", rule="", packed={})
        prune_run(tmp_path / "runs" / run_id, decision)
    ingest([tmp_path / "runs"], store)
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
