"""How far a view can be believed is its first line; verdicts come first, and no factor is below 1."""

import re
from types import SimpleNamespace

import msgspec
import pandas as pd
import pytest

from dashboard.formatting import TIMES
from dashboard.ui import answers, doubts
from store.advice import finding
from store.ingest import ingest
from store.record import Finding
from tests.dashboard.opened import open_page, seen, tables, text


def result(model="a", status="ok", code="PASS", suite="timm", accelerator="cpu", source="xlabench", later=None):
    names = {"suite": suite, "model": model, "test": "eval", "variant": "inductor", "accelerator": accelerator}
    names |= {"source": source, "verification_run_id": later}
    return SimpleNamespace(**names, status=status, ran=status == "ok", verification_code=code)


def counted(results):
    return doubts.counted(pd.DataFrame(map(vars, results)))


def test_a_view_that_nothing_speaks_against_has_no_line():
    assert counted([result("a"), result("b")]).line is None


def test_the_line_counts_each_doubt_and_says_what_to_do():
    rows = [result("a"), result("b", code="VERIFIER_SKIPPED"), result("c", "disturbed"), result("d", "not_run", None)]
    line = counted(rows).line
    assert line.startswith("4 results: incomplete, 3 of 4 so far; 1 disturbed; 1 not verified.")
    assert "measure these again while nothing else runs" in line
    assert doubts.marks(rows[1]) + doubts.marks(rows[2]) == "°⚠"


def test_a_doubt_about_every_result_is_about_all():
    rows = [result("a", code=None), result("b", code=None)]
    assert counted(rows).line == "2 results: none is verified. To do: run with `--verify`."
    imported = [result("a", code=None, source="peer"), result("b", code=None, source="peer")]
    assert counted(imported).line == "2 results: none is verified."


def test_what_only_a_later_run_found_right_is_said():
    some = counted([result("a", later="check"), result("b")])
    assert (some.line, some.origin) == (None, ("1 verified in a later run",))
    assert counted([result("a", later="check"), result("b", later="check")]).origin == ("all verified in a later run",)
    assert counted([result("a", later="check", code="FAIL"), result("b")]).later_n == 0


def test_wrong_answers_are_said_first_and_named():
    rows = [result("z", "not_run", None), *(result(name, code="FAIL") for name in "abcd")]
    named = ", ".join(f"{name} eval under inductor" for name in "abc")
    said = f"5 results: **4 wrong answers** ({named}, 1 more); incomplete, 4 of 5 so far. To do: `xlabench repro"
    assert counted(rows).line.startswith(said)


def test_a_legend_has_the_marks_that_occur_and_no_others():
    assert doubts.meanings(["0.5", "not run"]) == []
    drawn = ["0.51†", "1.2°", "✗"]
    assert doubts.meanings(drawn) == ["✗ wrong answer", "° not verified", "\N{DAGGER} measurement warning"]
    assert doubts.meanings(["⚠"]) == ["⚠ disturbed or never steady"]


def test_one_model_is_named():
    assert "one model only, resnet18" in counted([result("resnet18")]).line
    assert counted([result("net.py:Net@1", suite="own")]).line is None
    line = counted([result("mm", suite="operators")]).line
    assert "one operator only, mm. To do: measure more operators." in line


def test_models_of_one_name_from_two_suites_are_two():
    assert counted([result("resnet18"), result("resnet18", suite="torchbench")]).line is None
    rows = [result("resnet18", code="FAIL"), result("resnet18", code="FAIL", suite="torchbench")]
    named = "(timm/resnet18 eval under inductor, torchbench/resnet18 eval under inductor)"
    assert f"**2 wrong answers** {named}" in counted(rows).line


def test_a_wrong_answer_is_named_with_what_tells_it_from_others():
    rows = [result(code="FAIL"), result(code="FAIL", accelerator="cuda")]
    assert "(a eval under inductor on cpu, a eval under inductor on cuda)" in counted(rows).line


def test_a_view_of_which_nothing_ran_says_of_what():
    rows = [result("a", "oom", None), result("b", "oom", None), result("c", "timeout", None)]
    failures = f"2 {TIMES} out of memory, 1 {TIMES} timeout"
    to_do = "To do: see *Experiments* on page Runs & jobs."
    assert counted(rows).line == f"3 results: **none ran** ({failures}). {to_do}"
    assert "none ran" not in counted([*rows, result("d")]).line


@pytest.mark.parametrize("page", ["overview", "speedup", "compile-time", "fallback-ops", "trends", "runs", "compare"])
def test_each_page_begins_with_it(demo, page):
    [first, *_] = [each.value for each in seen(demo, page).markdown]
    assert "results: incomplete, 4" in first or "results: " in first


@pytest.mark.parametrize("page", ["speedup", "compile-time", "runs"])
def test_rows_of_results_and_their_files_have_it(demo, page):
    listed = next(table for table in tables(seen(demo, page)) if "doubt" in table)
    assert {"\N{WARNING SIGN} never steady", "\N{EMPTY SET} not run"} <= set(listed["doubt"])


def test_rows_and_cells_have_the_measurement_warnings_of_a_result_and_of_its_baseline(review_store):
    [listed] = [table for table in tables(seen(review_store, "speedup")) if "doubt" in table]
    texts = {text.partition("\N{DAGGER} ")[2] for text in listed["doubt"].dropna() if "\N{DAGGER}" in text}
    assert {"busy machine", "baseline"} <= texts
    assert any(re.fullmatch(r"busy machine \+\d", text) for text in texts), (
        "the others are on page Model and in the file"
    )
    overview = seen(review_store, "overview")
    assert any("\N{DAGGER} measurement warning." in caption.value for caption in overview.caption)


def test_a_warning_of_an_attempt_that_is_no_longer_shown_marks_no_row(factory, tmp_path):
    warned = [Finding(code="far_off", text="far off", next_step="measure again")]
    attempts = [(name, number) for number in (1, 2) for name in ("inductor", "eager")]
    records = [factory.make_record(backend=name, attempt=n, verification_code="PASS") for name, n in attempts]
    for place, findings in ((0, warned), (3, warned)):  # of inductor the first attempt, of eager the second
        records[place] = msgspec.structs.replace(records[place], findings=findings)
    factory.write_run(tmp_path / "run", records)
    ingest([tmp_path], tmp_path / "store")
    page = seen(tmp_path / "store", "speedup", baseline=["inductor"])
    [listed] = [table for table in tables(page) if "doubt" in table]
    assert listed["doubt"].dropna().tolist() == ["\N{DAGGER} far off"]


def test_the_command_of_a_measurement_warning_is_code_and_names_the_home(monkeypatch, factory, tmp_path):
    records = [factory.make_record(backend=name, model="a") for name in ("inductor", "eager")]
    records = [msgspec.structs.replace(each, findings=[finding("disturbed", why="others")]) for each in records]
    factory.write_run(tmp_path / "run", records)
    ingest([tmp_path], tmp_path / "store")
    at = open_page(monkeypatch, tmp_path / "store", "model", model=["a"], test=["eval"], result=["eager"])
    assert f"numbers; `xlabench doctor --home {tmp_path}` names the programs" in text(at).replace("\\", "")


def test_rows_of_no_single_record_have_no_warnings():
    rows = pd.DataFrame({"model": ["a"], "status": ["ok"], "ran": [True], "verification_code": ["PASS"]})
    assert list(doubts.with_warnings(None, rows).columns) == list(rows.columns)


def test_a_warning_marks_the_points_and_its_words_come_last():
    warned = result("a", code="VERIFIER_SKIPPED")
    warned.warned = "far off; baseline: short block"
    assert doubts.in_words(warned) == ["° not verified", "\N{DAGGER} far off; baseline: short block"]
    assert doubts.on_points([warned, result("b")]) == ["°\N{DAGGER}", ""]


def test_points_are_marked_only_where_that_tells_them_apart():
    same = [result("a", code="VERIFIER_SKIPPED"), result("b", code="VERIFIER_SKIPPED")]
    assert doubts.on_points(same) == ["", ""]
    assert doubts.on_points([*same, result("c"), result("d", "disturbed")]) == ["°", "°", "", "⚠"]


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0.67, 0.5, 0.9), f"**x** is **1.49{TIMES} slower** than inductor (95 % CI 1.11\N{EN DASH}2.00{TIMES})"),
        ((1.5, 1.2, 1.9), f"**x** is **1.50{TIMES} faster** than inductor (95 % CI 1.20\N{EN DASH}1.90{TIMES})"),
        (
            (1.04, 0.9, 1.2),
            f"No significant difference between **x** and inductor (1.04{TIMES}, 95 % CI 0.90\N{EN DASH}1.20)",
        ),
        ((0.5, None, None), f"**x** is **2.00{TIMES} slower** than inductor (no interval)"),
    ],
)
def test_a_verdict_comes_first(numbers, words):
    assert answers.verdict("x", *numbers, baseline="inductor") == words
