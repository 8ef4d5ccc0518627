"""The runs page: the list, doubts of every process, what differs between two runs, raw records, imports."""

import pytest

from tests.dashboard.opened import open_page, seen, tables, text


@pytest.fixture(scope="module")
def store(factory, tmp_path_factory):
    """Two runs in two environments; the second has three processes, of which the last ones found something.

    Before them there are runs of two other labels in turns.
    """
    from store import advice
    from store.importers import facts
    from store.ingest import ingest

    home = tmp_path_factory.mktemp("runs")
    old = factory.make_environment(torch="2.8.0")
    factory.write_run(home / "runs" / "old", [factory.make_record(run_id="old-run", label="before", environment=old)])
    later = factory.RUN_START + factory.DAY
    records = [
        factory.make_record(run_id="new-run", label="after", timestamp=later, replica=replica) for replica in range(3)
    ]
    for record in records[1:]:
        record.findings = [advice.finding("busy_machine", share=0.4)]
        record.warnings = [advice.sentence(record.findings[0])]
    records[2].warnings.append("<script>alert(1)</script> was slow")
    factory.write_run(home / "runs" / "new", records)
    for day, label in enumerate(("turn", "mine", "turn")):
        start = factory.RUN_START + (day - 9) * factory.DAY
        record = factory.make_record(run_id=f"run-{day}", label=label, timestamp=start)
        factory.write_run(home / "runs" / f"run-{day}", [record])
    published = home / "published" / "table.csv"
    published.parent.mkdir()
    published.write_text("model,speedup\na,2.0\nb,8.0\n")
    facts.write(published, {"baseline": "inductor", "origin": "a talk", "backend": "openxla+dynamo"})
    ingest([home], home / "store")
    return home / "store", [record.record_id for record in records]


def test_doubts_of_every_process_are_listed_and_counted_once(monkeypatch, store):
    at = open_page(monkeypatch, store[0], "runs", look=["Measurement warnings"])
    assert "**other programs were busy**: 1 of 1 result" in text(at)
    findings, warnings = tables(at)[2:4]
    assert list(findings["processes_n"]) == [2]
    assert findings["next_step"].iloc[0].startswith("stop the other programs")
    assert list(warnings["warning"]) == ["<script>alert(1)</script> was slow"]


def test_what_differs_names_the_facts_of_both_runs(monkeypatch, store):
    at = open_page(monkeypatch, store[0], "runs", look=["What differs"])
    assert at.selectbox(key="with_run").value.startswith("before")
    facts = tables(at)[2].set_index("field")
    assert facts.loc["torch", ["value_a", "value_b"]].to_list() == ["2.8.0", "2.9.1"]
    assert "1 setting** differs between the two runs." in text(at)


def test_the_other_run_is_at_first_the_one_before_of_the_same_label(monkeypatch, store):
    at = open_page(monkeypatch, store[0], "runs", run=["run-2"], look=["What differs"])
    assert at.selectbox(key="with_run").value.endswith("run-0")


def test_a_run_has_its_label_host_versions_and_counts_in_the_list(store):
    runs = tables(seen(store[0], "runs"))[0].set_index("run_label")
    assert runs.loc["before", ["torch", "torch_xla", "host", "planned_n", "ran_n"]].to_list() == [
        *("2.8.0", "2.9.0", "bench-1", 1, 1)
    ]


def test_a_selected_experiment_is_called_as_page_model_calls_it(factory):
    """By the environment where the results of its model differ in it; other models of the run do not count."""
    import pandas as pd

    from dashboard.screens.runs.records import _named

    facts = {"suite": "dummy", "test": "eval", "accelerator": "cpu", "variant": "inductor", "dtype": "float32"}
    rows = pd.DataFrame(
        [
            facts | {"model": model, "environment": name, "series": "as in the run"}
            for model, name in (("a", "old"), ("a", "new"), ("b", "new"))
        ]
    )
    assert [_named(rows, rows.iloc[place]) for place in range(3)] == ["inductor · old", "inductor · new", "inductor"]


def test_reasons_why_there_is_no_number_are_whole_above_the_table(monkeypatch, factory, tmp_path):
    from store.ingest import ingest

    why = "refused: {} of 60 turns were disturbed by other programs; " + "end them, or keep them off some cores, " * 4
    records = [
        factory.make_record(model=model, status="run_error", message=why.format(n))
        for model, n in (("vgg16", 59), ("alexnet", 60))
    ]
    factory.write_run(tmp_path / "run", [*records, factory.make_record(model="dcgan")])
    ingest([tmp_path], tmp_path / "store")
    words = text(open_page(monkeypatch, tmp_path / "store", "runs")).replace("\\", "")
    assert f"- 2 experiments, for example: {why.format(60).strip()}" in words


def test_every_record_can_be_read_as_it_was(monkeypatch, store):
    at = open_page(monkeypatch, store[0], "runs", look=["Records"], record=[store[1][2]])
    assert list(tables(at)[2]["replica"]) == [0, 1, 2]
    assert store[1][2] in at.json[0].value
    assert "results.jsonl, byte" in text(at).replace("\\", "")
    at = open_page(monkeypatch, store[0], "runs", look=["Records"], record=["**no** such"])
    assert "\\*\\*no\\*\\* such" in text(at)


def test_numbers_of_others_stand_apart_and_are_called_so(store):
    at = seen(store[0], "runs")
    assert "Imported: reported by others" in text(at)
    runs, *_, imports, means = tables(at)
    assert len(runs) == 5
    assert list(imports["records_n"]) == [2]
    assert means[["origin", "baseline", "geomean", "n"]].to_numpy().tolist() == [["a talk", "inductor", 4.0, 2]]


def test_a_single_run_that_goes_on_is_not_one_of_several(monkeypatch, factory, tmp_path):
    from store.ingest import ingest

    planned = [factory.make_config(model="vgg16")]
    factory.write_run(tmp_path / "runs" / "going", [factory.make_record(verification_code="FAIL")], planned)
    ingest([tmp_path], tmp_path / "store")
    at = open_page(monkeypatch, tmp_path / "store", "runs")
    words = text(at)
    assert "1 run in the store, not complete." in words
    assert "if the run has ended, the same command continues it" in words
    statuses, experiments = tables(at)[1:3]
    assert statuses.set_index("model")["inductor"].to_dict() == {"resnet18": "wrong answer", "vgg16": "not run"}
    assert "planned, and not measured so far" in set(experiments["reason"])
