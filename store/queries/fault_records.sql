-- Grain: one row per record of $records: as its line was read, and the folder of its run.
SELECT r.record_id, r.record, u.path AS run_folder
FROM records AS r
LEFT JOIN runs AS u USING (run_id)
WHERE r.record_id IN (SELECT unnest($records::VARCHAR[]))
