"""The views of the index, in the order in which they build on each other."""

VIEWS = (
    "latest_run_files",
    "results",
    "comparable",
    "differs",
    "speedups",
    "geomeans",
    "compile_times",
    "fallback_ops",
    "graph_breaks",
    "run_status",
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
