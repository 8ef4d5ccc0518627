-- Grain: one row per artifact of a record of `made`.
SELECT line_id, record_id, unnest(record_artifacts, max_depth := 2)
FROM made
WHERE len(record_artifacts) > 0;
