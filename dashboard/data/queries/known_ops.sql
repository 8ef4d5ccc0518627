-- Grain: one row per op that any record of the store called on the host.
SELECT DISTINCT op
FROM record_fallback_ops
ORDER BY op
