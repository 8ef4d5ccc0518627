-- Grain: one row per artifact of a record of `parsed`.
SELECT line_id, record_id, unnest(r.artifacts, max_depth := 2)
FROM parsed
WHERE len(r.artifacts) > 0;
