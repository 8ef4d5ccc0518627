"""Models of one name from two suites are two models: sentences, lists and charts name them with their suites."""

import pytest

from dashboard import data
from dashboard.formatting import TIMES
from dashboard.review import board
from dashboard.ui import charts
from dashboard.view import ViewSelection
from store import query
from store.ingest import ingest
from store.record import FallbackOp, GraphBreak
from tests.dashboard.opened import open_page, seen, text

SUITES = {"torchbench": 1.0, "timm_models": 1.5}
BACKENDS = {"eager": 1.4, "inductor": 1.0, "openxla+dynamo": 1.25, "openxla+lazytensor": 1.1}


def records(factory, run, day, scale, wrong):
    made = []
    for suite, size in SUITES.items():
        for backend, factor in BACKENDS.items():
            base = 0.01 * size * factor * (scale if backend == "openxla+dynamo" else 1)
            on_xla = backend.startswith("openxla")
            op = FallbackOp(op="sort", klass="no_lowering", calls_per_iteration=2.0, calls_compile=4)
            made.append(
                factory.make_record(
                    suite=suite,
                    backend=backend,
                    per_iter=[base * (1 + 0.002 * (step % 4)) for step in range(10)],
                    run_id=run,
                    timestamp=factory.RUN_START + day * factory.DAY,
                    verification_code=wrong if backend == "openxla+lazytensor" else "PASS",
                    fallback_ops=[op] if on_xla else [],
                    graph_breaks=[GraphBreak(reason="print", count=2)] if backend == "inductor" else [],
                )
            )
    return made


@pytest.fixture(scope="module")
def store(factory, tmp_path_factory):
    home = tmp_path_factory.mktemp("twins")
    for day, (run, scale, wrong) in enumerate((("first", 1.0, "PASS"), ("second", 1.3, "FAIL"))):
        factory.write_run(home / "runs" / run, records(factory, run, day, scale, wrong))
    ingest([home], home / "store")
    return home / "store"


@pytest.mark.parametrize(
    ("page", "params", "says"),
    [
        ("speedup", {}, f"on **2 of 2 models** (timm_models/resnet18 0.62{TIMES}, torchbench/resnet18 0.62{TIMES})"),
        ("compile-time", {}, "on both models (timm_models/resnet18, torchbench/resnet18)"),
        ("fallback-ops", {}, "would leave 2 models without fallback: timm_models/resnet18, torchbench/resnet18"),
        ("fallback-ops", {"op": ["sort"]}, "Models blocked only by this op: timm_models/resnet18, torchbench/resnet18"),
    ],
)
def test_sentences_name_both(store, page, params, says):
    words = text(seen(store, page, **params)).replace("\\", "")
    assert says in words
    assert "one model only" not in words
    wrong = "timm_models/resnet18 eval under openxla+lazytensor, torchbench/resnet18 eval under openxla+lazytensor"
    assert f"**2 wrong answers** ({wrong})" in words


def test_what_needs_attention_names_both(store):
    labels = [button.label.replace("\\", "") for button in seen(store, "overview").button]
    named = "timm_models/resnet18, torchbench/resnet18"
    assert [label for label in labels if "wrong answers" in label] == [f"**2 wrong answers** · {named}"]


def test_each_change_has_its_own_row_in_the_chart_of_compare(monkeypatch, store):
    drawn = {}
    monkeypatch.setattr(charts, "draw", lambda drawing, key, **_how: drawn.update({key: drawing}))
    assert not open_page(monkeypatch, store, "compare").exception
    names = {"resnet18 eval openxla+dynamo · timm_models", "resnet18 eval openxla+dynamo · torchbench"}
    assert set(drawn["changes"].rows["name"]) == names


def test_a_finding_about_an_op_passes_a_filter_on_the_suite_of_its_models(store):
    shown = str(query.current_snapshot(store))
    assert data.rows(shown, "results", ViewSelection("second", "inductor"))["suite"].nunique() == 2
    passes = board._passes
    finding = type("Finding", (), {"models": (("torchbench", "resnet18"),), "suite": "", "model": ""})()
    for name in ("backend", "test", "accelerator", "dtype"):
        setattr(finding, name, "")
    for suite, expected in (("torchbench", True), ("timm_models", False)):
        assert passes(finding, ViewSelection("second", "inductor", suite=(suite,)), None) is expected
    of_model = ViewSelection("second", "inductor", model=("resnet18",))
    assert passes(finding, of_model, {("torchbench", "resnet18")}) is True
    assert passes(finding, of_model, {("timm_models", "resnet18")}) is False
