-- Grain: one row per compiled program of a record of `parsed`, in the order of the record.
SELECT line_id, record_id, (position - 1)::INTEGER AS position, unnest(graph)
FROM (
    SELECT line_id, record_id, unnest(r.graphs) AS graph, generate_subscripts(r.graphs, 1) AS position
    FROM parsed
    WHERE len(r.graphs) > 0
);
