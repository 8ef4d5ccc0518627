-- Grain: one row per file that holds the record: its line, and its place in the file.
SELECT r.record_id, r.run_id, r.run_label, r.source, r.purpose, r.record, s.path, s.byte_offset
FROM records AS r
LEFT JOIN record_sources AS s USING (record_id)
WHERE r.record_id = $record
ORDER BY s.path
