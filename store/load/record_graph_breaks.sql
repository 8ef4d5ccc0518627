-- Grain: one row per graph break reason of a record of `parsed`.
SELECT line_id, record_id, unnest(r.graph_breaks, max_depth := 2)
FROM parsed
WHERE len(r.graph_breaks) > 0;
