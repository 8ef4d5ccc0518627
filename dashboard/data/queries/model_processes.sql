-- Grain: one row per process of each result of the shown run that has one of $records (the attempt that is shown); `result`
-- is that record.
SELECT
    r.record_id AS result, p.record_id, p.replica, p.status, p.reason, p.steady_n, p.latency_s, p.latency_low_s, p.latency_high_s,
    p.latency_spread, p.first_iteration_s, p.start, p.finished_at
FROM result_rows AS r
JOIN processes() AS p USING (run_id, result_id, attempt)
WHERE r.run_id = $run AND list_contains($records::VARCHAR[], r.record_id)
ORDER BY r.record_id, p.replica
