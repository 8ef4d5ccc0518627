-- Grain: one row per graph break reason of a record of `parsed`.
INSERT INTO record_graph_breaks BY NAME
SELECT record_id, unnest(r.graph_breaks, max_depth := 2)
FROM parsed
WHERE len(r.graph_breaks) > 0;
