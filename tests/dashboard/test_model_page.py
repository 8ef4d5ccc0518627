"""The model page: from the list of models down to one result's samples, files and record."""

import gzip
import json
from types import SimpleNamespace

import pandas as pd
import pytest

from dashboard import settings
from dashboard.screens import model as model_page
from dashboard.screens.model import result as result_parts
from dashboard.viewers import ladder
from store.record import Artifact, Graph
from tests.dashboard.opened import copyable, open_page, tables, text
from tests.dashboard.test_viewers import PROFILE, REPORT

PARTS = ("Samples", "Verification", "Metrics", "Fallback ops", "Programs", "History", "Files", "Identity and record")
ONE = {"suite": ["torchbench"], "model": ["resnet18"], "test": ["eval"]}


def sql(store, statement):
    from store import query

    with query.connect(query.current_snapshot(store)) as con:
        return query.fetch(con, statement)


def test_several_models_are_listed_to_choose_from(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "model", test=["eval"])
    assert "6 models of this run pass the filters" in text(at)
    listed = tables(at)[0].set_index("model")
    assert listed.loc["resnet50", ["results_n", "ran_n", "failed_n"]].to_list() == [4, 3, 1]


BESIDE = {"baseline_record_id": "b", "batch_size": 8}
"""What results have in common whose speedups are over the same baseline."""


@pytest.mark.parametrize(
    ("ends", "is_decided"),
    [
        ({"dynamo": (1.2, 1.4), "lazy": (1.0, 1.1)}, True),
        ({"dynamo": (1.2, 1.4), "lazy": (1.1, 1.3)}, False),
        ({"dynamo": (1.2, 1.4), "lazy": (None, None)}, False),
        ({"dynamo": (None, None)}, False),
        ({"dynamo": (0.9, 1.4)}, False),
    ],
)
def test_the_fastest_backend_is_shown_to_be_faster_than_each_other(ends, is_decided):
    rows = [
        {"series": name, "variant": name, "speedup_low": low, "speedup_high": high, **BESIDE}
        for name, (low, high) in ends.items()
    ]
    frame = pd.DataFrame([*rows, {"series": "inductor", "variant": "inductor", **BESIDE}]).astype(
        {"speedup_low": float, "speedup_high": float}
    )
    assert model_page._is_undecided(frame, frame.iloc[0], "inductor") is not is_decided


def test_a_wrong_answer_is_neither_the_fastest_nor_a_rival():
    row = {"ran": True, "steady_n": 8, "status": "ok", "reason": None, **BESIDE}
    rows = [
        row | {"series": name, "variant": name, "valid": valid, "latency_s": seconds, "speedup": speedup,
               "speedup_low": speedup, "speedup_high": speedup}
        for name, valid, seconds, speedup in (
            ("eager", True, 0.01, None), ("inductor", False, 0.001, None), ("dynamo", True, 0.005, 2.0))
    ]  # fmt: skip
    view = SimpleNamespace(selection=SimpleNamespace(baseline="eager"))
    first, *_ = model_page.answers(pd.DataFrame(rows), view, "alexnet")
    assert first.startswith("**alexnet** is fastest with **dynamo**: 5.00 ms an iteration")
    warned = pd.DataFrame(rows).assign(warned=[None, None, "far off"])
    assert model_page.answers(warned, view, "alexnet")[0].endswith("8, \N{DAGGER} far off)")
    first, *_ = model_page.answers(pd.DataFrame(rows[:2]), view, "alexnet")
    assert first.startswith("**alexnet** takes 10.0 ms an iteration")
    assert first.endswith("under **eager**; no other backend has a valid latency")
    assert model_page.answers(pd.DataFrame(rows[1:2]), view, "alexnet") == [
        "**alexnet** gave no valid latency in this run"
    ]


@pytest.mark.parametrize(
    ("old", "is_decided"),
    [({"latency_ms": 5.01}, False), ({"latency_ms": 6.0}, True), ({"latency_ms": 6.0, "batch_size": 4}, False)],
)
def test_ratios_over_two_baselines_do_not_decide_which_backend_is_the_fastest(old, is_decided):
    """Both environments have an eager of their own: 5.00 and 5.01 ms are as fast, though one is 2.0x and one 1.8x."""
    times = {"eager new": 10.0, "inductor new": 5.0, "eager old": 9.0, "inductor old": old["latency_ms"]}
    rows = [
        {"series": name, "variant": name.split()[0], "ran": True, "valid": True, "status": "ok", "reason": None,
         "steady_n": 8, "latency_s": ms / 1e3, "latency_low_s": 0.99 * ms / 1e3, "latency_high_s": 1.01 * ms / 1e3,
         "speedup": base / ms, "speedup_low": 0.98 * base / ms, "speedup_high": 1.02 * base / ms,
         "baseline_record_id": name.split()[1], "batch_size": old.get("batch_size", 8) if "old" in name else 8}
        for name, ms in times.items()
        for base in [times[f"eager {name.split()[1]}"]]
    ]  # fmt: skip
    view = SimpleNamespace(selection=SimpleNamespace(baseline="eager"))
    first, *_ = model_page.answers(pd.DataFrame(rows), view, "alexnet")
    assert first.startswith("**alexnet** is fastest with **inductor new**") is is_decided
    assert ("no backend is shown to be the fastest" in first) is not is_decided


def test_backends_stand_side_by_side_with_the_numbers_of_the_store(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "model", **ONE)
    [run] = sql(demo, "SELECT run_id FROM runs ORDER BY run_started DESC LIMIT 1")
    rows = sql(
        demo,
        f"SELECT variant, latency_s * 1000 AS ms, speedup FROM speedups('inductor', '{run['run_id']}') "
        f"WHERE run_id = '{run['run_id']}' AND model = 'resnet18' AND test = 'eval'",
    )
    shown = tables(at)[0].set_index("series")
    assert set(shown.index) == {row["variant"] for row in rows}
    for row in rows:
        assert shown.loc[row["variant"], "latency_s"] == pytest.approx(row["ms"])
        assert shown.loc[row["variant"], "speedup"] == pytest.approx(row["speedup"])
    assert "fastest with **inductor**" in text(at)


@pytest.mark.parametrize(
    ("model", "test", "result"), [("resnet18", "eval", "openxla+lazytensor"), ("dcgan", "train", "openxla+dynamo")]
)
def test_every_part_is_drawn_for_a_result_and_for_a_failure(monkeypatch, demo, model, test, result):
    at = open_page(monkeypatch, demo, "model", model=[model], test=[test], result=[result])
    for part in PARTS:
        at.session_state["part"] = part
        at.run()
        assert not at.exception, part
        assert any(block.startswith("xlabench run") for block in copyable(at))


def test_a_failure_says_why_and_how_to_repeat_it(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "model", model=["dcgan"], test=["train"])
    assert at.selectbox(key="result").value == "openxla+dynamo"
    assert "out of memory: tried to allocate 2.0 GiB" in text(at)
    assert "--backend openxla+dynamo" in copyable(at)[-1]
    assert not at.code, "the browser would fetch what colours programs"


def test_a_table_has_words_in_place_of_codes_and_room_for_reasons(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "model", model=["dcgan"], test=["train"])
    table = at.dataframe[0]
    shown = table.value[list(table.proto.column_order)].set_index("series")
    assert "verification_code" not in shown
    assert shown.loc["eager", "verification"] == "agrees with eager"
    assert pd.isna(shown.loc["openxla+dynamo", "verification"]), "nothing could be compared: the reason says why"
    assert json.loads(table.proto.columns)["why"]["width"] >= 240


def test_where_nothing_ran_the_table_has_the_reasons(monkeypatch, failed):
    at = open_page(monkeypatch, failed, "model", model=["vgg16"])
    assert list(at.dataframe[0].proto.column_order) == ["series", "status", "why"]


def test_a_planned_experiment_without_a_record_says_so(monkeypatch, demo):
    at = open_page(
        monkeypatch, demo, "model", model=["vgg16"], test=["train"], result=["eager"], part=["Identity and record"]
    )
    assert not at.exception
    assert "There is no record" in text(at)


def test_samples_keep_their_phases_and_every_process(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "model", **ONE, result=["openxla+lazytensor"])
    assert "12 blocks (1 first, 1 warmup, 10 steady)" in text(at)
    assert not [table for table in tables(at) if "per_iter_s" in table], "asked for by a click"
    at.session_state["blocks-as-table"] = True
    [blocks] = [table for table in tables(at.run()) if "per_iter_s" in table]
    assert list(blocks["kind"])[:3] == ["first", "warmup", "steady"]
    assert list(blocks["compiles"])[:2] == [1, 0]
    assert blocks["per_iter_s"].iloc[2] == pytest.approx(18.0)


def test_a_verification_code_is_explained(monkeypatch, demo):
    at = open_page(
        monkeypatch, demo, "model", model=["alexnet"], test=["train"], result=["inductor"], part=["Verification"]
    )
    assert "The process ended before it could compare" in text(at)
    others = tables(at)[-1]
    assert set(others["Code"]) >= {"PASS", "FAIL", "EAGER_FAILED"}


def test_metrics_have_unit_and_definition_and_a_reason_when_missing(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "model", **ONE, result=["eager"], part=["Metrics"])
    shown = tables(at)[-1].set_index("name")
    assert shown.loc["latency_s", ["value", "unit"]].to_list() == ["22.725", "ms"]
    assert shown.loc["compiler_time_s", "value"] == "—"
    assert "no value where the backend reports none" in shown.loc["compiler_time_s", "definition"]


def test_fallback_ops_belong_to_backends_with_xla(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "model", model=["BERT_pytorch"], test=["eval"], part=["Fallback ops"])
    ops = tables(at)[-1].set_index("op")
    assert ops.loc["nonzero", "klass"] == "Opt-in lowering"
    at = open_page(monkeypatch, demo, "model", **ONE, result=["eager"], part=["Fallback ops"])
    assert "eager runs no XLA program" in text(at)


def test_history_has_the_series_in_every_run(monkeypatch, demo):
    at = open_page(monkeypatch, demo, "model", **ONE, result=["eager"], part=["History"])
    runs = tables(at)[-1]
    assert list(runs["latency_s"].round(3)) == [22.725, 25.25]


HOSTILE = "<script>alert(1)</script> **b** 🙂 " + "x" * 170


@pytest.fixture(scope="module")
def filed(factory, tmp_path_factory):
    """One model on every rung, with files beside its result, and names that try to be markup."""
    from store.ingest import ingest

    home = tmp_path_factory.mktemp("filed")
    run = home / "runs" / "one"
    rungs = {
        "eager": 0.010,
        "openxla+lazytensor": 0.030,
        "torchxla_trivial": 0.024,
        "torchxla_trace_once": 0.014,
        "openxla+dynamo": 0.015,
    }
    records = [
        factory.make_record(
            model=HOSTILE,
            backend=backend,
            per_iter=[base * (1 + 0.001 * n) for n in range(10)],
            metrics={"xla_ExecuteTime_time_s": [base * 0.5] * 12} if "eager" not in backend else {},
        )
        for backend, base in rungs.items()
    ]
    files = {
        "artifacts/a/hlo/module.txt": "HloModule f\n" + "  %add = add(a, b)\n" * 3 + "  ROOT %t = tuple(add)\n",
        "artifacts/a/hlo/kernels.tar.gz": "packed",
        "artifacts/a/attempt-1-timed.log": "a line of the log\n",
        "artifacts/a/0/dynamo-counters.json": json.dumps({"stats": {"unique_graphs": 3}}),
        "artifacts/a/0/metrics-report.txt": REPORT,
        "artifacts/a/0/profile-table.txt": PROFILE,
        "artifacts/a/inductor/output_code.py": "import torch\ndef call(args):\n    return args\n",
    }
    for name, content in files.items():
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(content)
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 0, "dur": 2000}
    trace = run / "artifacts" / "a" / "0" / "trace.json.gz"
    trace.write_bytes(gzip.compress(json.dumps({"traceEvents": [event]}).encode()))
    kinds = {"hlo": "hlo", "kernels": "hlo", "timed": "log", "counters": "dynamo_counters", "trace": "chrome_trace"}
    kinds |= {"metrics": "pytorch_xla_metrics", "profile": "pytorch_profile", "inductor": "inductor"}
    records[-1].artifacts = [
        Artifact(kind=next(kind for word, kind in kinds.items() if word in path), path=path, bytes=len(content))
        for path, content in (*files.items(), ("artifacts/a/0/trace.json.gz", "x"), ("artifacts/a/gone.log.timed", ""))
    ]
    factory.write_run(run, records)
    with_transfers = factory.make_record(
        model=HOSTILE, backend="torchxla_trace_once", per_iter=[0.016 + n * 1e-6 for n in range(10)], run_id="run-2"
    )
    with_transfers.experiment.include_transfers = True
    with_transfers.experiment_id = "with-transfers"
    factory.write_lines(home / "runs" / "two" / "results.jsonl", [with_transfers])
    ingest([home], home / "store")
    return home / "store"


def opened(monkeypatch, filed, **query):
    return open_page(monkeypatch, filed, "model", run=["run-1"], result=["openxla+dynamo"], **query)


def test_the_ladder_says_what_each_step_costs(monkeypatch, filed):
    at = opened(monkeypatch, filed, unfolded=["rungs-1"])
    ladder = tables(at)[1]
    assert list(ladder["variant"]) == [
        *("eager", "openxla+lazytensor", "torchxla_trivial", "torchxla_trace_once", "torchxla_trace_once")
    ]
    assert list(ladder["change_s"].round(2))[1:] == [20.09, -6.03, -10.04, 1.94]
    assert list(ladder["execute_s"].round(1))[1:4] == [15.0, 12.0, 7.0]
    words = text(at)
    assert "**10.0 ms** of an iteration is tracing the captured graph at every call" in words
    assert (
        "**6.03 ms** of an iteration is Python's work on the model, which dynamo's capture replaces by guards" in words
    )
    assert "bringing inputs to the device and the result back" in words


def test_a_rung_that_is_slower_than_the_one_before_shows_no_saving():
    """Noise of a step is not told as its cost."""
    rungs = [(ladder.EAGER, None, 0.0217), (ladder.LAZY, ladder.EAGER, 0.02104), (ladder.ONCE, ladder.LAZY, 0.02152)]
    rows = [
        {"rung": rung, "rung_before": before, "latency_s": latency, "transfers": False, "execute_s": None}
        for rung, before, latency in rungs
    ]
    frame = pd.DataFrame(rows)
    [sentence] = ladder.sentences(frame.assign(change_s=frame["latency_s"].diff()))
    assert sentence == (
        "No cost is shown for Python's work and retracing, which capture and one trace replace: “traced once” is "
        "**480 µs** slower than “lazy tensors”, which is noise or another program"
    )


CODES = dict.fromkeys(("eager", "openxla+lazytensor", "torchxla_trace_once"), "PASS") | {"torchxla_trivial": "FAIL"}
TRACEBACK = "Traceback (most recent call last):\n  <b>here</b>"


@pytest.fixture(scope="module")
def several(factory, ingested, tmp_path_factory):
    """A store of several small runs."""
    home = tmp_path_factory.mktemp("several")
    graph = Graph(kind="hlo_optimized", fingerprint="f00", ops=7, fusions=2, op_histogram={"add": 2, "fusion": 5})
    failed = factory.make_record(run_id="failed", status="crashed", message="killed by signal 11")
    failed.error.traceback = TRACEBACK
    failed.artifacts = [Artifact(kind="log", path="artifacts/a/attempt-1-timed.log", bytes=1)]
    log = home / "runs" / "failed" / "artifacts" / "a" / "attempt-1-timed.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"line {n}\n" for n in range(500)))
    own = {"suite": "own", "run_id": "new", "model": "net.py:Net@11111111"}
    runs = {
        "wrong": [
            factory.make_record(run_id="wrong", backend=backend, verification_code=code)
            for backend, code in CODES.items()
        ],
        "programs": [factory.make_record(run_id="programs", graphs=[graph])],
        "failed": [failed],
        "old": [factory.make_record(suite="own", model="net.py:Net@00000000", run_id="old")],
        "new": [factory.make_record(**own), factory.make_record(**own, backend="eager", per_iter=[0.002] * 8)],
    }
    return ingested(home, runs)


def test_a_wrong_answer_is_on_no_rung(monkeypatch, several):
    shown = {"model": ["resnet18"], "unfolded": ["rungs-1"]}
    ladder = tables(open_page(monkeypatch, several, "model", run=["wrong"], **shown))[1]
    assert list(ladder["variant"]) == ["eager", "openxla+lazytensor", "torchxla_trace_once"]


def test_names_are_shown_as_text(monkeypatch, filed):
    words = text(opened(monkeypatch, filed))
    assert "<script>" not in words
    assert "\\<script\\>" in words


def test_a_program_is_shown_in_place_and_can_be_searched(monkeypatch, filed):
    at = opened(monkeypatch, filed, part=["Files"], kind=["HLO"])
    assert at.selectbox(key="file").value == "hlo/module.txt"
    assert any(code.value.startswith("HloModule f") for code in at.code)
    at = opened(monkeypatch, filed, part=["Files"], kind=["HLO"], find=["ROOT"])
    assert "1 line with" in text(at)
    assert any(block.splitlines()[-1] == "      5    ROOT %t = tuple(add)" for block in copyable(at))


def test_a_kind_and_a_file_that_there_are_not_are_dropped_with_a_notice(monkeypatch, filed):
    for given in ({"kind": ["nope"]}, {"kind": ["HLO"], "file": ["nope"]}):
        at = opened(monkeypatch, filed, part=["Files"], **given)
        assert ["nope" in warning.value for warning in at.warning] == [True]
    at.session_state["kind"] = "Logs"  # its files are others: no word of the one that was chosen before
    assert not at.run().warning


def test_counters_and_traces_are_tables(monkeypatch, filed):
    at = opened(monkeypatch, filed, part=["Files"], kind=["Dynamo counters"])
    assert tables(at)[-2].to_numpy().tolist() == [["stats", "unique_graphs", 3]]
    at = opened(monkeypatch, filed, part=["Files"], kind=["Trace"])
    assert tables(at)[-2][["name", "calls_n", "self_s"]].to_numpy().tolist() == [["aten::add", 1, 2.0]]


def test_reports_are_tables_in_units_and_code_is_code(monkeypatch, filed):
    report = tables(opened(monkeypatch, filed, part=["Files"], kind=["XLA metrics"]))[-2].set_index("name")
    assert report.loc["CompileTime", ["samples_n", "total_s"]].to_list() == [2, pytest.approx(62.0035)]
    assert report.loc["aten::nonzero", ["kind", "total"]].to_list() == ["counter", 3]
    profile = tables(opened(monkeypatch, filed, part=["Files"], kind=["Profile"]))[-2].set_index("Name")
    assert profile.loc["aten::copy_", "Self CPU, ms"] == pytest.approx(1.5)
    at = opened(monkeypatch, filed, part=["Files"], kind=["Inductor"])
    [code] = [block for block in at.code if block.value.startswith("import torch\ndef call")]
    assert code.language == "python"


def test_programs_are_listed_with_their_operations(monkeypatch, several):
    programs = tables(open_page(monkeypatch, several, "model", run=["programs"], part=["Programs"]))[-1]
    assert programs[["ops", "fusions", "operations"]].to_numpy().tolist() == [[7, 2, "fusion 5, add 2"]]


def test_a_failure_shows_the_end_of_its_log(monkeypatch, several):
    at = open_page(monkeypatch, several, "model", run=["failed"])
    [log] = [block for block in copyable(at) if block.endswith("line 499")]
    assert len(log.splitlines()) == 60
    assert TRACEBACK in copyable(at)


def test_a_file_that_is_gone_says_so(monkeypatch, filed):
    at = opened(monkeypatch, filed, part=["Files"], kind=["Logs"], file=["gone.log.timed"])
    assert not at.exception
    assert "the file is not in its run folder" in at.warning[-1].value


def test_what_to_look_at_next_and_that_a_changed_file_is_a_new_series(monkeypatch, several):
    at = open_page(monkeypatch, several, "model", run=["new"], part=["History"])
    assert not at.exception
    words = text(at)
    assert "its source has changed since net.py:Net@00000000 was measured" in words.replace("\\", "")
    assert "a changed file starts a new series" in words
    assert "Compiling net.py:Net eval never pays here under inductor" in words.replace("\\", "")
    command = "xlabench run net.py:Net@11111111 --test=eval --backend=inductor --dump-pytorch-profiles"
    assert f"{command} --home {settings.home()}" in copyable(at)


def test_a_number_that_only_records_have_is_shown_with_its_unit():
    assert result_parts._metric_row("per_iter_cpu_time_s", 0.002)[1:4] == ("CPU time", "2", "ms")
