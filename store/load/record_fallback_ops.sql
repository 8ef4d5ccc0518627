-- Grain: one row per op that XLA did not lower of a record of `made`.
SELECT line_id, record_id, unnest(record_fallback_ops, max_depth := 2)
FROM made
WHERE len(record_fallback_ops) > 0;
