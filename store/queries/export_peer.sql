-- Grain: one row per record of the runs that the peer's format can hold: all of the peer's own, and of ours the one
-- process whose attempt is shown, replica 0, with its verification code: that of a later run, where one verified it.
SELECT r.record, r.source, r.backend, r.variant, r.run_id, r.environment, r.status, q.verification_code
FROM processes() AS r
JOIN (
    SELECT record_id, min(path) AS path, arg_min(byte_offset, path) AS byte_offset
    FROM record_sources
    WHERE record_id IN (SELECT record_id FROM records WHERE run_id IN (SELECT unnest($runs::VARCHAR[])))
    GROUP BY record_id
) AS s USING (record_id)
LEFT JOIN result_rows AS q ON q.run_id = r.run_id AND q.detail_record_id = r.record_id
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[]))
    AND (r.source = 'peer' OR q.run_id IS NOT NULL)
ORDER BY r.run_started, r.run_id, s.path, s.byte_offset, r.record_id
