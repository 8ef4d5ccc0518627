-- Grain: one row per op that XLA did not lower of a record of `parsed`.
INSERT INTO record_fallback_ops BY NAME
SELECT record_id, unnest(r.fallback_ops, max_depth := 2)
FROM parsed
WHERE len(r.fallback_ops) > 0;
