"""Overview's first screen: suite and test by backend, then model by backend; what a mean hides stands beside it."""

import re
from base64 import b64decode
from types import SimpleNamespace

import msgspec
import pandas as pd
import pytest

from dashboard.formatting import TIMES
from dashboard.screens import overview
from dashboard.screens.overview import grids
from store.charts import heat
from store.ingest import ingest
from store.record import Finding
from store.stats.geomean import Ratio, spread
from tests.dashboard.opened import seen, text


def html(at):
    [table] = [each.proto.body for each in at.get("html") if 'class="xl-matrix"' in each.proto.body]
    return table


def test_a_mean_has_its_median_its_counts_and_itself_without_its_largest_outlier():
    found = spread(
        [
            Ratio("a", 0.8, 0.7, 0.9),
            Ratio("b", 1.0, 0.9, 1.1),
            Ratio("c", 1.25, 1.1, 1.4),
            Ratio("d", 64.0, None, None),
        ]
    )
    assert (found.slower, found.same, found.faster, found.unknown) == (1, 1, 1, 1)
    assert found.median == pytest.approx(1.25**0.5)
    assert (found.outlier, found.without) == ("d", pytest.approx(1.0))
    assert spread([Ratio("a", 2.0, 1.5, 2.5)]).outlier is None


def test_the_matrix_has_a_row_per_suite_and_test_and_none_for_the_baseline(review_store):
    table = html(seen(review_store, run=["9f8ed5b7"]))
    suites = re.findall(r"<tr><th><b>(\w+)</b>", table)
    assert suites == ["huggingface", "timm_models", "timm_models", "troubled", "troubled", "dummy"], "synthetic last"
    assert 'data-backend="inductor"' not in table
    one = r"CI [\d.]+\N{EN DASH}[\d.]+ · BertTiny only\N{DAGGER}?</small><small>(passed|ran) "
    assert re.search(one, table), "the word beside its number is its only verdict"
    assert "ran 7/11, not verified" in table
    assert re.search(r"[1-9]\d* no difference shown", table)
    assert not re.search(r"\d same", table), "an interval that holds 1 does not show that two backends are the same"
    assert "without sorts_out_duplicates" in table
    assert f"inductor ▲ 7.29{TIMES} faster" in table


def test_a_cell_says_how_many_of_its_models_have_a_measurement_warning(factory, tmp_path):
    warned = [Finding(code="far_off", text="far off", next_step="measure again")]
    every = [(name, model) for name in ("inductor", "eager") for model in ("a", "b", "c")]
    records = [factory.make_record(backend=name, model=model) for name, model in every]
    for place in (1, 3):  # the baseline of b, and a
        records[place] = msgspec.structs.replace(records[place], findings=warned)
    factory.write_run(tmp_path / "run", records)
    ingest([tmp_path], tmp_path / "store")
    at = seen(tmp_path / "store", baseline=["inductor"])
    assert "3 no difference shown · 2 \N{DAGGER} · " in html(at)
    assert "models with a measurement warning" in text(at)
    one = seen(tmp_path / "store", baseline=["inductor"], model=["a"])
    assert "a only\N{DAGGER}</small>" in html(one)


def test_a_warning_that_no_cell_names_is_not_explained():
    """Such as one of the baseline alone, where no result has a speedup over it."""
    cells = [{"eager": grids.MatrixCell("1.2", "", lines=[line])} for line in ("1 \N{DAGGER}", "passed 1/1")]
    rows = [grids.MatrixRow("timm_models", "eval", None, each) for each in cells]
    still = SimpleNamespace(moved=[], base_name="")
    assert overview._legend(still, rows).startswith("\N{DAGGER} models with a measurement warning")
    assert overview._legend(still, rows[1:]) == ""


def test_last_runs_are_straight_lines(demo):
    [source] = re.findall(r"base64,([^\"]+)", grids.sparkline([1.0, 2.0, 1.0]))
    assert '<polyline points="3.0,17.0 35.0,3.0 67.0,17.0"' in b64decode(source).decode()
    assert grids.sparkline([1.0]) == grids.sparkline(None) == ""
    [still] = re.findall(r"base64,([^\"]+)", grids.sparkline([0.86, 0.861]))
    assert '<polyline points="3.0,10.1 67.0,9.9"' in b64decode(still).decode(), "noise is no swing"
    assert "means of 2 runs" in html(seen(demo))


def test_the_coloured_line_is_explained_where_a_cell_has_one(demo):
    assert 'class="change"' in html(at := seen(demo))
    assert "how the backend's own time changed since" in text(at)


def test_names_of_others_are_no_markup(failed):
    assert "<script" not in html(seen(failed)).lower()


def test_models_are_grouped_and_the_slowest_stands_first():
    common = {"test": "eval", "accelerator": "cpu", "backend": "eager", "status": "ok", "ran": True, "series": "eager"}
    common |= {"verification_code": "PASS", "speedup_reason": None, "series_id": "1"}
    rows = pd.DataFrame(
        [
            common | {"suite": suite, "model": model, "speedup": value, "speedup_low": low, "speedup_high": high}
            for suite, model, value, low, high in (
                ("dummy", "toy", 0.1, 0.09, 0.11),
                ("timm_models", "fast", 2.0, 1.9, 2.1),
                ("timm_models", "slow", 0.45, 0.4, 0.5),
                ("timm_models", "slowest", 0.2, 0.15, 0.25),
                ("timm_models", "same", 0.9, 0.8, 1.1),
            )
        ]
    )
    frame, order, series = grids.heat_rows(rows, {})
    assert [row.rpartition(heat.NAME_SPLIT)[2] for row in order] == [
        *("timm_models · eval", "slowest", "slow", "same", "fast"),
        *("dummy · eval", "toy"),
    ]
    assert series == ["eager"]
    shades = frame.dropna(subset=["shade"]).set_index("model")["shade"]
    assert shades["slow"] == -1.0
    assert shades["same"] == 0.0


def test_a_cell_has_the_doubts_of_its_result():
    row = {"suite": "timm_models", "model": "a", "test": "eval", "accelerator": "cpu", "backend": "eager"}
    row |= {"series": "eager", "series_id": "1", "status": "ok", "ran": True, "verification_code": None}
    row |= {"speedup": 2.0, "speedup_low": 1.9, "speedup_high": 2.1, "speedup_reason": None}
    [cell] = grids.heat_rows(pd.DataFrame([row]), {})[0].query("model == 'a'").to_dict("records")
    assert (cell["label"], cell["why"]) == (f"2.00{TIMES}°", "faster (95 % CI 1.90\N{EN DASH}2.10), ° not verified")
