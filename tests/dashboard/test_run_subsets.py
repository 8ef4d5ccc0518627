"""Subsets of runs: a query over the rows of a few runs, kept apart, gives what it gives over the whole store."""

import itertools

import pandas as pd
import pytest

from dashboard import data
from dashboard.data import query_text, run_subsets, snapshot
from dashboard.view import ViewSelection
from store import query
from tests.tiers import first_of

FALLBACKS = "e065a9cb-9d6c-4852-956d-b8d1b4592a62"
NIGHT_BEFORE, NIGHTLY = "33e38542-798d-45e2-9a19-9122ffe871e6", "3c8dcd8d-5463-4b62-972f-1ab8e6356e96"
BASELINES = [
    {},
    {"baseline_point": "latest"},
    {"baseline_point": "oldest"},
    {"baseline_point": "pinned", "baseline_run_id": NIGHT_BEFORE},
    {"baseline": "eager", "baseline_accelerator": "cpu"},
]
MODELS = [(), ("test_resnet",), ("test_resnet", "alexnet", "no such model")]
ONLY = [(), ("no fallback ops",), ("no graph breaks",)]


def narrowed(*values):
    """Return no filter, and one value of each."""
    return list(zip(*values, strict=False))[:2]


ALL = pytest.mark.parametrize("product", first_of([narrowed, itertools.product]), ids=["each", "all"])
"""Each filter once; every value and every pair of them is thorough: no filter asks what another one is."""


def _over(values, named, *names):
    """Ask each query over a value, as many values as there are queries; every pair of them is thorough."""
    first = [(name, values[place % len(values)]) for place, name in enumerate(names)]
    pairs = first + [pair for pair in itertools.product(names, values) if pair not in first]
    return pytest.mark.parametrize(("name", named), first_of(pairs, len(first)), ids=str)


@pytest.fixture(scope="module")
def shown(review_store):
    return str(query.current_snapshot(review_store))


@pytest.fixture(scope="module")
def runs(review_con):
    return [str(run) for run in query.runs(review_con)["run_id"]]


def means_of(runs, chosen):
    point = "same" if chosen.baseline_point == "same" else chosen.baseline_run
    return {"runs": runs, "point": point, "before": next(run for run in reversed(runs) if run != chosen.run_id)}


@_over(BASELINES, "baseline", "last_geomeans", "trend_geomeans", "trend_steps", "geomean_changes")
@ALL
def test_means_of_a_subset_are_those_of_the_store(shown, review_con, runs, name, baseline, product):
    seen = 0
    for models, only in product(MODELS, ONLY):
        chosen = ViewSelection(
            **({"run_id": NIGHTLY, "baseline": "inductor", "model": models, "only": only} | baseline)
        )
        more = means_of(runs, chosen)
        got = data.rows(shown, name, chosen, **more)
        pd.testing.assert_frame_equal(
            got, query.select(review_con, data.statement(name, chosen, **more)), check_dtype=False
        )
        seen += len(got)
    assert seen


@_over(BASELINES, "baseline", "break_even_counts", "break_evens", "geomeans", "speedup_curve", "speedups")
@ALL
def test_speedups_of_a_subset_are_those_of_the_store(shown, review_con, name, baseline, product):
    seen = 0
    for models, only in product(MODELS, ONLY):
        chosen = ViewSelection(
            **({"run_id": NIGHTLY, "baseline": "inductor", "model": models, "only": only} | baseline)
        )
        got = data.rows(shown, name, chosen)
        whole = query.select(review_con, data.statement(name, chosen))
        blank = [column for column in ("speedup_low", "speedup_high") if column in got.columns]
        pd.testing.assert_frame_equal(got.drop(columns=blank), whole.drop(columns=blank), check_dtype=False)
        seen += len(got)
    assert seen


@pytest.mark.parametrize(
    ("name", "only"),
    first_of(
        [
            ("fallback_ranking", ("no graph breaks",)),
            ("graph_breaks", ("no fallback ops",)),
            ("fallback_calls", ()),
            ("fallback_coverage", ("no graph breaks",)),
            ("fallback_ranking", ()),
            ("graph_breaks", ()),
        ],
        4,
    ),
)
@ALL
def test_fallback_ops_of_a_subset_are_those_of_the_store(shown, review_con, runs, name, only, product):
    seen = 0
    backends, tests = [(), ("openxla+dynamo",)], [(), ("eval",)]
    if product is narrowed:
        backends, tests, runs = [("openxla+dynamo",), ()], [(), ("eval",)], (NIGHTLY, FALLBACKS)
    for run, backend, test in product(runs, backends, tests):
        chosen = ViewSelection(run_id=run, baseline="inductor", backend=backend, test=test, only=only)
        more = {"order": "payoff", "op": None, "klass": None}
        got = data.rows(shown, name, chosen, **more)
        given = query.select(review_con, data.statement(name, chosen, **more))
        if name == "fallback_coverage":
            keys = list(given.columns)
            got, given = (rows.sort_values(keys, ignore_index=True) for rows in (got, given))
        pd.testing.assert_frame_equal(got, given, check_dtype=False)
        seen += len(got)
    assert seen


def test_the_subset_is_asked_and_not_the_store(shown, runs):
    chosen = ViewSelection(run_id=NIGHTLY, baseline="inductor")
    bound = {"baseline_backend": "inductor", "baseline_accelerator": None, "point": "same", "runs": runs}
    taken = run_subsets.get(shown, "means", bound)
    assert run_subsets.get(shown, "means", dict(reversed(bound.items()))) is taken
    assert run_subsets.get(shown, "means", bound | {"runs": runs[:1]}) is not taken
    text = query_text.sql("trend_geomeans")
    asked = {name: [] for name in ("suite", "model", "backend", "test", "accelerator", "dtype", "only")}
    asked |= {"baseline_backend": "inductor", "baseline_accelerator": None, "point": "same", "runs": runs}
    assert len(taken.select(text, asked)) == len(data.rows(shown, "trend_geomeans", chosen, **means_of(runs, chosen)))
    try:
        taken.con.execute("DELETE FROM model_rows WHERE run_id <> $run", {"run": NIGHTLY})
        assert set(taken.select(text, asked)["run_id"]) == {NIGHTLY}
    finally:  # no other test is asked of what is left of it
        snapshot.connection(shown).close()
        snapshot.connection.clear()


def test_subsets_go_with_the_connection_to_their_snapshot(shown, runs):
    bound = {"baseline_backend": "inductor", "baseline_accelerator": None, "point": "latest", "runs": runs}
    taken = run_subsets.get(shown, "means", bound)
    snapshot.connection(shown).close()
    snapshot.connection.clear()
    again = run_subsets.get(shown, "means", bound)
    assert again is not taken
    assert again.con.execute("SELECT count(*) > 0 FROM speedup_rows").fetchone() == (True,)


def test_what_a_subset_takes_is_known(shown, runs):
    bound = {"baseline_backend": "eager", "baseline_accelerator": None, "point": "same", "runs": runs}
    rows = run_subsets.get(shown, "means", bound).con.execute("SELECT count(*) FROM speedup_rows").fetchone()[0]
    assert rows
    assert run_subsets.get(shown, "means", bound).__sizeof__() >= rows * 32 * 16


@pytest.mark.parametrize("baseline", first_of(BASELINES[::-1], 2), ids=str)
def test_findings_of_a_subset_are_those_of_the_store(shown, review_con, baseline):
    chosen = ViewSelection(**({"run_id": NIGHTLY, "baseline": "inductor"} | baseline))
    assert run_subsets.of("attention")
    text = query_text.sql("attention")
    whole = query.select(review_con, text, data._bound(text, chosen, {}))
    pd.testing.assert_frame_equal(data._rows(shown, "attention", chosen, {}), whole, check_dtype=False)
    assert len(whole)


FILTERS = [
    {},
    {"model": ("test_resnet", "alexnet")},
    {"suite": ("torchbench",), "test": ("eval",)},
    {"backend": ("openxla+dynamo", "eager"), "accelerator": ("cpu",), "dtype": ("float32",)},
    {"test": ("no such test",)},
]


@_over(FILTERS, "chosen", "break_even_counts", "compile_medians", "counts", "doubts", "model_list", "results")
def test_rows_that_a_filter_selects_in_python_are_those_of_the_statement(shown, review_con, name, chosen):
    for run in (NIGHT_BEFORE, NIGHTLY):
        view = ViewSelection(run_id=run, baseline="inductor", **chosen)
        got, whole = data.rows(shown, name, view), query.select(review_con, data.statement(name, view))
        if name == "doubts":  # in no order
            got, whole = (rows.sort_values(list(whole.columns), ignore_index=True) for rows in (got, whole))
        got, whole = (rows.astype(object).where(rows.notna(), None) for rows in (got, whole))
        pd.testing.assert_frame_equal(got, whole)


def test_what_a_reader_writes_into_rows_no_other_reader_sees(shown):
    chosen = ViewSelection(run_id=NIGHTLY, baseline="inductor")
    before = data.rows(shown, "speedups", chosen)
    written = data.rows(shown, "speedups", chosen)
    written["model"] = "another"
    written.loc[0, "latency_s"] = -1.0
    written.sort_values("latency_s", inplace=True)  # noqa: PD002 - the worst that a page could do
    pd.testing.assert_frame_equal(data.rows(shown, "speedups", chosen), before)
    assert (before["model"] != "another").all()
