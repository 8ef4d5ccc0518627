-- Grain: at most one row: the result that a record belongs to, of whatever replica it is.
SELECT s.record_id
FROM records AS r
JOIN result_rows AS s ON s.run_id = r.run_id AND s.result_id = r.result_id
WHERE r.record_id = $record
