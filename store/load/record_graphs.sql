-- Grain: one row per compiled program of a record of `made`, in the order of the record.
SELECT line_id, record_id, (position - 1)::INTEGER AS position, unnest(graph)
FROM (
    SELECT line_id, record_id, unnest(record_graphs) AS graph, generate_subscripts(record_graphs, 1) AS position
    FROM made
    WHERE len(record_graphs) > 0
);
