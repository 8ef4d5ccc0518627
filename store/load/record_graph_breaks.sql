-- Grain: one row per graph break reason of a record of `made`.
SELECT line_id, record_id, unnest(record_graph_breaks, max_depth := 2)
FROM made
WHERE len(record_graph_breaks) > 0;
