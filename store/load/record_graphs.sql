-- Grain: one row per compiled program of a record of `parsed`, in the order of the record.
INSERT INTO record_graphs BY NAME
SELECT record_id, (position - 1)::INTEGER AS position, unnest(graph)
FROM (
    SELECT record_id, unnest(r.graphs) AS graph, generate_subscripts(r.graphs, 1) AS position
    FROM parsed
    WHERE len(r.graphs) > 0
);
