-- Grain: as view findings, for each result of the shown run that has one of $records; `result` is that record.
SELECT r.record_id AS result, f.code, f.text, f.next_step, f.processes_n
FROM result_rows AS r
JOIN findings AS f ON f.run_id = r.run_id AND f.result_id = r.result_id
WHERE r.run_id = $run AND f.run_id = $run AND list_contains($records::VARCHAR[], r.record_id)
ORDER BY r.record_id, f.code
