-- Grain: one row per process of each result of the shown run that has one of $records (the attempt that is shown); `result`
-- is that record.
SELECT
    r.record_id AS result, p.record_id, p.replica, p.status, p.reason, p.steady_n, p.latency_s, p.latency_low_s, p.latency_high_s,
    p.latency_spread, p.first_iteration_s, p.start, p.finished_at
FROM result_rows AS r
JOIN records AS p
    ON p.run_id = r.run_id AND p.result_id = r.result_id AND p.attempt = r.attempt
    AND p.purpose = 'benchmark' AND p.twin_of IS NULL
WHERE r.run_id = $run AND list_contains($records::VARCHAR[], r.record_id)
ORDER BY r.record_id, p.replica
