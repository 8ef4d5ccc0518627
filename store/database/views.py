"""The views of the index, in the order in which they build on each other."""

BEFORE_RESULTS = (
    "latest_run_files",
    "outcome",
    "series_of",
    "error_signature",
    "mad_factor",
)
"""What table `result_rows` is made with."""

VIEWS = (
    *BEFORE_RESULTS,
    "results",
    "epochs",
    "history",
    "latest_results",
    "comparable",
    "differs",
    "baselines",
    "speedups",
    "geomeans",
    "break_evens",
    "geomean_changes",
    "pair_lists",
    "compile_times",
    "fallback_ops",
    "fallback_calls",
    "fallback_by_op",
    "fallback_by_model",
    "graph_breaks",
    "structural_differences",
    "what_differs",
    "failure_states",
    "error_signatures",
    "run_status",
    "rates",
    "memory",
    "dropped",
    "series_changes",
    "runs",
    "aa_pairs",
    "noise_floors",
    "findings",
    "hud_reported",
    "hud_rows",
    "hud_summary",
    "reported_speedups",
    "reported_geomeans",
)

SCALARS = ("differs", "outcome", "series_of", "error_signature", "mad_factor")
"""Macros that give a value and no rows."""
