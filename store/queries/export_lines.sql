-- Grain: one row per record of the runs, in the order of their files: equal foreign records keep their order. Without
-- the key of joins: the units of the columns are in their names, times are UTC.
SELECT r.* EXCLUDE (result_id) REPLACE (r.record::VARCHAR AS record)
FROM records AS r
JOIN (
    SELECT record_id, min(path) AS path, arg_min(byte_offset, path) AS byte_offset
    FROM record_sources
    WHERE record_id IN (SELECT record_id FROM records WHERE run_id IN (SELECT unnest($runs::VARCHAR[])))
    GROUP BY record_id
) AS s USING (record_id)
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[]))
ORDER BY r.run_id, s.path, s.byte_offset, r.record_id
