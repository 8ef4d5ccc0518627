"""The five questions of a review, asked of real runs: a page, the report and SQL give the same numbers."""

import json

import pytest

import xlabench
from dashboard.formatting import STATUS_WORDS, escape, ratio
from store import query
from tests.dashboard.opened import open_page, tables, text

MATRIX = "2af2f9b8-ad8b-4935-a560-fac9eedfb34c"
OLD, NEW = "46cd25f5-818b-4138-ab42-612be2fabda1", "45032836-1642-4ad1-b5fb-06b1800d327d"
CONFIRMING = "9c814370-0799-46c2-b87e-6dfcf27b2a8e"
NIGHTLY, FALLBACKS = "3c8dcd8d-5463-4b62-972f-1ab8e6356e96", "e065a9cb-9d6c-4852-956d-b8d1b4592a62"
MEDIANS = """
    WITH rounds AS (
        SELECT r.model, r.variant, r.environment, r.replica, s.round, median(s.per_iter_s) AS latency_s
        FROM samples AS s JOIN records AS r USING (record_id)
        WHERE r.run_id = $run AND s.kind = 'steady' GROUP BY ALL
    ),
    processes AS (SELECT * EXCLUDE (latency_s, round), median(latency_s) AS latency_s FROM rounds GROUP BY ALL)
    SELECT * EXCLUDE (latency_s, replica), median(latency_s) AS latency_s FROM processes GROUP BY ALL"""
"""Median over processes of the median over their rounds."""
XLA = ("openxla+dynamo", "openxla+lazytensor")


@pytest.fixture
def ask(review_store):
    """Ask the store by SQL, as `xlabench sql` does."""

    def query_rows(sql: str, **params):
        with query.connect(query.current_snapshot(review_store)) as con:
            return query.select(con, sql, params)

    return query_rows


@pytest.fixture
def command_tables(review_store, capsys):
    """Run a verb of the command line; return its JSON: the rows of each table by its title."""

    def run(*words: str) -> dict[str, list[list]]:
        capsys.readouterr()
        assert xlabench.main([*words, "--database", str(review_store), "--format", "json"]) == 0
        made = json.loads(capsys.readouterr().out)
        return {table["title"]: table["rows"] for table in made["tables"]}

    return run


def table_with(at, *columns):
    """Return the first table of the page that has these columns."""
    return next(each for each in tables(at) if set(columns) <= set(each.columns))


def test_which_models_are_slower_on_xla_than_on_inductor_and_by_how_much(
    monkeypatch, review_store, ask, command_tables
):
    at = open_page(monkeypatch, review_store, "speedup", run=[MATRIX], test=["eval"])
    shown = table_with(at, "model", "series", "speedup")
    slower = ask(
        """SELECT model, backend, speedup, latency_s FROM speedups('inductor', $run)
        WHERE run_id = $run AND test = 'eval' AND backend LIKE 'openxla%' AND speedup < 1 ORDER BY speedup""",
        run=MATRIX,
    )
    assert len(slower) > 10
    drawn = shown[(shown["speedup"] < 1) & shown["series"].isin(XLA)].reset_index(drop=True)
    assert list(drawn["model"]) == list(slower["model"])
    assert list(drawn["speedup"]) == list(slower["speedup"])
    assert list(drawn["latency_s"]) == pytest.approx(list(slower["latency_s"] * 1000))
    reported = {cell for row in command_tables("report", "--run", MATRIX, "--test", "eval")["Models"] for cell in row}
    assert set(slower["speedup"]) <= reported
    certain = ask(
        """SELECT model, speedup FROM speedups('inductor', $run)
        WHERE run_id = $run AND test = 'eval' AND backend = 'openxla+dynamo' AND speedup_high < 1 ORDER BY speedup""",
        run=MATRIX,
    )
    worst = ", ".join(f"{escape(row.model)} {ratio(row.speedup)}" for row in certain.head(3).itertuples())
    assert f"is slower than inductor on **{len(certain)} of 12 models** ({worst}" in text(at)


def test_what_changed_between_two_runs_and_is_it_real(monkeypatch, review_store, ask, command_tables):
    """The old version against the new one: what a confirming run measured in turns is confirmed."""
    at = open_page(monkeypatch, review_store, "compare", a=[OLD], b=[NEW])
    shown = table_with(at, "finding", "certainty", "ratio")
    sure = shown[shown["certainty"] == "confirmed"].set_index(["model", "variant"])
    judged = {(row[1], row[3]): row for row in command_tables("compare", "old", "new", "--run", CONFIRMING)["Cells"]}
    confirmed = {key: row for key, row in judged.items() if row[5] == "yes"}
    assert len(confirmed) > 4
    assert set(sure.index) == set(confirmed)
    medians = ask(MEDIANS, run=CONFIRMING).set_index(["model", "variant", "environment"])["latency_s"]
    for key, row in confirmed.items():
        assert sure.loc[key, "finding"] == "▲ faster"
        assert sure.loc[key, "ratio"] == row[8]
        for side, column in (("old", "old_s"), ("new", "new_s")):
            assert sure.loc[key, column] == pytest.approx(medians[(*key, side)] * 1000), key


def test_which_op_to_lower_first(monkeypatch, review_store, ask, command_tables):
    at = open_page(monkeypatch, review_store, "fallback-ops", run=[FALLBACKS])
    shown = table_with(at, "op", "time_share", "calls_per_iteration")
    ops = ask(
        """SELECT op, any_value(klass) AS klass, max(calls_per_iteration) AS calls, max(time_share) AS time_share
        FROM fallback_by_op WHERE run_id = $run GROUP BY op
        ORDER BY any_value(klass) = 'host_read', max(time_share) DESC""",
        run=FALLBACKS,
    )
    assert len(ops) > 3
    assert list(shown["op"]) == list(ops["op"])
    assert list(shown["time_share"]) == pytest.approx(list(100 * ops["time_share"]))
    assert list(shown["calls_per_iteration"]) == list(ops["calls"])
    assert f"**{escape(ops['op'][0])}** is the op to lower first" in text(at)
    reported = command_tables("report", "fallbacks", "--run", FALLBACKS)["Fallback ops"]
    assert [row[0] for row in reported] == list(shown["op"])
    assert [row[6] for row in reported] == pytest.approx(list(shown["time_share"]))
    assert [row[8] for row in reported] == list(shown["calls_per_iteration"])


def test_what_lowering_an_op_would_pay(monkeypatch, review_store, ask, command_tables):
    """The page of the run that called it, the report and SQL give one number: its replacement does worse here."""
    at = open_page(monkeypatch, review_store, "fallback-ops", run=[FALLBACKS], op=["upsample_bicubic2d"])
    shown = table_with(at, "payoff", "payoff_low").set_index("model")
    known = ask(
        """SELECT model, payoff, payoff_low, payoff_high, gain, verification_code, without_latency_s FROM payoffs
        WHERE op = 'upsample_bicubic2d' AND payoff IS NOT NULL"""
    ).set_index("model")
    assert list(shown.index) == list(known.index) == ["resizes_bicubic"]
    for name in ("payoff", "payoff_low", "payoff_high"):
        assert list(shown[name]) == pytest.approx(list(known[name]))
    assert list(shown["without_latency_s"]) == pytest.approx(list(1000 * known["without_latency_s"]))
    assert (list(known["gain"]), list(known["verification_code"])) == ([-1], ["PASS"])
    [row] = [
        row
        for row in command_tables("report", "payoffs")["Payoffs"]
        if row[2] == "resizes_bicubic" and row[12] is not None
    ]
    assert row[12] == pytest.approx(known["payoff"].iloc[0])


def test_which_model_pays_its_compile_time_back_and_when(monkeypatch, review_store, ask, command_tables):
    """Against eager, which does not compile: inductor's own compile time is longer than XLA's here."""
    query_rows = {
        "run": [MATRIX],
        "baseline": ["eager"],
        "compile_chart": ["Break-even"],
        "backend": ["openxla+dynamo"],
    }
    at = open_page(monkeypatch, review_store, "compile-time", **query_rows)
    shown = table_with(at, "outcome", "break_even_iterations").set_index(["model", "test"])
    known = ask(
        """SELECT model, test, break_even, break_even_iterations, ahead_at_first_n, time_to_steady_s
        FROM break_evens('eager', $run)
        WHERE run_id = $run AND backend = 'openxla+dynamo' AND break_even IS NOT NULL""",
        run=MATRIX,
    ).set_index(["model", "test"])
    assert {"after", "never"} <= set(known["break_even"])
    tables_told = command_tables("compare", "eager", "openxla+dynamo", "--run", MATRIX)
    reported = {(row[1], row[2]): row for row in tables_told["Break-even: compile time against speed"]}
    assert set(known.index) <= set(reported)
    for key, row in known.iterrows():
        pays = row["break_even"] == "after"
        assert row["break_even"] != "never" or row["ahead_at_first_n"] == 0, "no backend starts sooner than eager"
        count = f"after {int(row['break_even_iterations']):,} iteration" if pays else row["break_even"]
        assert shown.loc[key, "outcome"].startswith(count)
        assert shown.loc[key, "time_to_steady_s"] == row["time_to_steady_s"] == reported[key][5]
        assert reported[key][6] == row["break_even"], key
        assert not pays or reported[key][7] == row["break_even_iterations"], key


def test_what_failed_and_why(monkeypatch, review_store, ask, command_tables):
    at = open_page(monkeypatch, review_store, run=[NIGHTLY], baseline=["eager"], unfolded=["findings"])
    shown = table_with(at, "finding", "why").set_index(["model", "test", "variant"])
    failed = ask(
        """SELECT model, test, variant, status, reason FROM results
        WHERE run_id = $run AND NOT ran AND status NOT IN ('skipped', 'verify_only')""",
        run=NIGHTLY,
    )
    assert {"timeout", "crashed", "oom", "compile_error", "load_error"} <= set(failed["status"])
    reported = {tuple(row[1:4]): row[4:] for row in command_tables("report", "--run", NIGHTLY)["Without a speedup"]}
    for row in failed.itertuples():
        key = (row.model, row.test, row.variant)
        assert shown.loc[key, "finding"] == STATUS_WORDS[row.status]
        assert shown.loc[key, "why"] == row.reason
        assert reported[key] == [row.status, row.reason]
