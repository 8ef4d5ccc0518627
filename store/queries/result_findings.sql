-- Grain: one row per result of these runs and code of a finding; `text` and `next_step` are those of its first process.
SELECT r.record_id, f.code, f.text, f.next_step
FROM findings AS f
JOIN result_rows AS r ON r.run_id = f.run_id AND r.result_id = f.result_id
WHERE list_contains($runs::VARCHAR[], f.run_id)
ORDER BY r.record_id, f.code
