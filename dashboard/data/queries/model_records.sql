-- Grain: one row per record of $records, results of the shown run: the record as its line was read.
SELECT record_id AS result, record
FROM records
-- A record is of its result's run; said so, the text of all other runs is left unread.
WHERE run_id = $run AND list_contains($records::VARCHAR[], record_id)
ORDER BY record_id
