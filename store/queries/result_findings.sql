-- Grain: one row per result of these runs and code of a finding: `text` and `next_step` are those of its first process, as
-- view findings has them, which would be made of all runs.
SELECT r.record_id, f.code, arg_min(f.text, p.replica) AS text, arg_min(f.next_step, p.replica) AS next_step
FROM result_rows AS r
JOIN processes() AS p USING (run_id, result_id, attempt)
JOIN record_findings AS f ON f.record_id = p.record_id
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[])) AND p.run_id IN (SELECT unnest($runs::VARCHAR[]))
GROUP BY r.record_id, f.code
ORDER BY r.record_id, f.code
