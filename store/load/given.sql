-- Grain: one row: of which tables of details `parsed` has rows, by their names, and the most steady samples of a record.
SELECT
    bool_or(len(r.fallback_ops) > 0) AS record_fallback_ops,
    bool_or(len(r.graph_breaks) > 0) AS record_graph_breaks,
    bool_or(len(r.graphs) > 0) AS record_graphs,
    bool_or(len(r.artifacts) > 0) AS record_artifacts,
    bool_or(len(r.findings) > 0) AS record_findings,
    bool_or(len(further) > 0) AS record_metrics,
    max(len(steady_s)) AS most_n
FROM parsed;
