-- Grain: one row per line of `made` whose record_id belongs to a record with another text: one that is known, else the
-- first in this batch. A text is compared with one whose samples were pruned without its own.
SELECT
    p.line_id, p.path, p.line_number, p.byte_offset, p.record,
    CASE WHEN r.pruned_at IS NULL THEN p.record ELSE without_samples(p.record, r.pruned_at) END AS claim,
    coalesce(r.record, f.record) AS holder
FROM made AS p
LEFT JOIN known AS k ON k.record_id = p.record_id
LEFT JOIN records AS r ON r.record_id = k.record_id
LEFT JOIN (
    SELECT record_id, arg_min(record, line_id) AS record
    FROM made
    GROUP BY record_id
) AS f ON k.record_id IS NULL AND f.record_id = p.record_id
WHERE holder <> claim
ORDER BY p.line_id;
