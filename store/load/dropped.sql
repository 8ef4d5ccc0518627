-- Grain: one row per line of `made` whose record the index has, or an earlier line of the batch.
SELECT line_id FROM made WHERE record_id IN (SELECT record_id FROM known)
UNION
SELECT line_id FROM made QUALIFY row_number() OVER (PARTITION BY record_id ORDER BY line_id) > 1;
