-- Grain: one row per op that XLA did not lower of a record of `parsed`.
SELECT line_id, record_id, unnest(r.fallback_ops, max_depth := 2)
FROM parsed
WHERE len(r.fallback_ops) > 0;
