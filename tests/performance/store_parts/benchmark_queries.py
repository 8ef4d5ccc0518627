"""What pages and reports ask of each view: bounded by a run, a series or a number of rows, with parameters."""

import re
from typing import Any, NamedTuple

from dashboard.data import query_text
from store import query
from store.database.migrate import views
from store.query import Connection, Filters


class Ask(NamedTuple):
    """One question: its name, the table that it goes over, its SQL and its parameters."""

    name: str
    table: str
    sql: str
    params: dict[str, Any]


_OF_RUN = "SELECT * FROM {name} WHERE run_id = $run"
_SQL = {
    "latest_run_files": "SELECT run_id, label, started FROM latest_run_files ORDER BY started DESC",
    "results": "SELECT * FROM results WHERE run_id = $run AND experiment_id = $experiment",
    "epochs": "SELECT * FROM epochs",
    "history": "SELECT * FROM history WHERE series_id = $series ORDER BY run_started",
    "latest_results": "SELECT * FROM latest_results WHERE suite = $suite AND test = 'eval' ORDER BY model LIMIT 1000",
    "baselines": "SELECT * FROM baselines('inductor', 'latest', NULL, NULL) LIMIT 1000",
    "speedups": "SELECT * FROM speedups('inductor', NULL, runs := [$run])",
    "geomeans": "SELECT * FROM geomeans('inductor', NULL, runs := [$run])",
    "operator_speedups": "SELECT * FROM operator_speedups('inductor', $run) WHERE run_id = $run",
    "break_evens": "SELECT * FROM break_evens('inductor', NULL, runs := [$run])",
    "geomean_changes": "SELECT * FROM geomean_changes('inductor', NULL, $before, $run)",
    "geomean_steps": "SELECT * FROM geomean_steps('inductor', NULL, [$before, $run])",
    "pair_lists": "SELECT * FROM pair_lists('inductor', NULL, runs := [$run])",
    "structural_differences": "SELECT * FROM structural_differences($before, $run)",
    "what_differs": "SELECT * FROM what_differs($before, $run)",
    "failure_states": "SELECT * FROM failure_states(5) WHERE run_id = $run",
    "error_signatures": "SELECT * FROM error_signatures ORDER BY last_started DESC LIMIT 200",
    "payoffs": "SELECT * FROM payoffs",
    "processes": "SELECT * EXCLUDE (record) FROM processes() WHERE run_id = $run",
    "unclean": "SELECT * FROM unclean(['no fallback ops'], [$run])",
    "runs": "SELECT * FROM runs ORDER BY run_started DESC",
    "dropped": "SELECT * FROM dropped WHERE newest_run_id = $run LIMIT 1000",
    "series_changes": "SELECT * FROM series_changes ORDER BY started_after DESC LIMIT 200",
    "noise_floors": "SELECT * FROM noise_floors ORDER BY floor DESC LIMIT 1000",
    "hud_reported": "SELECT * FROM hud_reported WHERE run_id = $run",
    "hud_summary": "SELECT * FROM hud_summary('inductor', NULL) WHERE run_id = $run",
    "reported_geomeans": "SELECT * FROM reported_geomeans",
    "reported_speedups": "SELECT * FROM reported_speedups LIMIT 1000",
}
"""Views that are not asked for one run and all columns."""
_MORE = {
    "speedups over the latest": "SELECT * FROM speedups('inductor', 'latest', runs := [$run])",
    "speedups over another run": "SELECT * FROM speedups('inductor', $before, runs := [$run])",
    "geomeans over the oldest": "SELECT * FROM geomeans('inductor', 'oldest', runs := [$run])",
    "results of a run": "SELECT * FROM result_rows WHERE run_id = $run",
    "failure counts": "SELECT backend, state, count(*) FROM failure_states(7) WHERE run_id = $run GROUP BY ALL",
}
_TABLES = {
    "fallback_ops": "record_fallback_ops",
    "fallback_calls": "record_fallback_ops",
    "fallback_by_op": "record_fallback_ops",
    "fallback_by_model": "record_fallback_ops",
    "payoffs": "records",
    "fallback_payoffs": "record_fallback_ops",
    "graph_breaks": "record_graph_breaks",
    "findings": "record_findings",
    "structural_differences": "record_graphs",
    "aa_pairs": "records",
    "noise_floors": "records",
    "runs": "records",
    "processes": "records",
}
_PAGE = (
    *("attention", "cost_changes", "counts", "pairing", "geomeans", "speedups", "speedup_curve", "against"),
    *("compile_medians", "blocks", "break_evens", "break_even_counts"),
    *("operators", "operator_totals", "operator_runs", "operator_fallbacks", "operator_newest_run"),
    *("fallback_coverage", "fallback_calls", "fallback_ranking", "known_ops", "op_history", "graph_breaks"),
    "profiles_of_others",
    *("last_geomeans", "trend_geomeans", "trend_steps"),
    *("model_records", "model_samples", "model_processes", "model_findings"),
)
_LAST = 13
"""The shown run and the twelve before it: what Overview draws, and Trends where nothing is chosen in a few runs."""
_QUERIES = ("results", "speedups", "geomeans", "facets")


def asks(con: Connection) -> list[Ask]:
    """Return every question, about the newest run that there is."""
    facts = _facts(con)
    own = [(name, _SQL.get(name, _OF_RUN.format(name=name))) for name in views() if name not in {"scalars", "samples"}]
    found = [Ask(name, _TABLES.get(name, "result_rows"), sql, facts) for name, sql in (*own, *_MORE.items())]
    found += [Ask(f"page: {name}", "result_rows", query_text.sql(name), _page(facts)) for name in _PAGE]
    filters = query.with_baseline(Filters(run=(facts["run"],)), "inductor", None)
    found += [Ask(f"query: {name}", _TABLES.get(name, "result_rows"), query.named(name), filters) for name in _QUERIES]
    return [
        ask._replace(params={key: value for key, value in ask.params.items() if re.search(rf"\${key}\b", ask.sql)})
        for ask in found
    ]


def _facts(con: Connection) -> dict[str, Any]:
    """Return the newest runs, the one before the newest, and a result of the newest."""
    runs = [
        row[0]
        for row in con.execute("SELECT run_id FROM runs ORDER BY run_started DESC LIMIT $n", {"n": _LAST}).fetchall()
    ]
    sql = """SELECT experiment_id, environment, series_id, suite, model, test, of_model.records
        FROM result_rows
        JOIN (SELECT suite, model, test, list(record_id) AS records FROM result_rows WHERE run_id = $run GROUP BY ALL)
            AS of_model USING (suite, model, test)
        WHERE run_id = $run AND ran ORDER BY experiment_id, environment LIMIT 1"""
    [(experiment, environment, series, suite, model, test, records)] = con.execute(sql, {"run": runs[0]}).fetchall()
    op = con.execute("SELECT op FROM fallback_by_op WHERE run_id = $run LIMIT 1", {"run": runs[0]}).fetchone()
    facts = {
        "run": runs[0],
        "before": runs[min(1, len(runs) - 1)],
        "runs": runs,
        "experiment": experiment,
        "environment": environment,
        "records": records,
    }
    found = {
        "series": series,
        "suite": suite,
        "model": model,
        "test": test,
        "environment": environment,
        "op": op and op[0],
    }
    return facts | found


def _page(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a page without filters passes."""
    chosen: dict[str, Any] = {name: [] for name in ("suite", "model", "backend", "test", "accelerator", "dtype")}
    shown = {name: facts[name] for name in ("run", "runs", "before", "experiment", "environment", "records")}
    baseline = {
        "baseline_backend": "inductor",
        "baseline_run": facts["run"],
        "baseline_accelerator": None,
        "point": "same",
    }
    of_model = {"of_suite": facts["suite"], "of_model": facts["model"], "of_test": facts["test"], "most_blocks": 10}
    of_ops = {"op": facts["op"], "klass": None, "order": "cost", "most_runs": 60, "named": None}
    pair = {"series_a": "inductor", "series_b": "openxla+dynamo"}
    return chosen | shown | baseline | of_model | of_ops | pair | {"only": []}
