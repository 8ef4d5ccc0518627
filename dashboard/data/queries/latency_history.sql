-- Grain: one row per series with a valid latency in the shown run that at least one other of the runs $runs has measured
-- alike (macro measured_as) and without a wrong answer: those latencies in seconds, from the oldest run on.
SELECT r.series_id, list(r.latency_s ORDER BY r.run_started, r.run_id) AS trend
FROM result_rows AS r
JOIN result_rows AS n ON n.run_id = $run AND n.series_id = r.series_id AND is_valid(n.ran, n.verification_code)
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[])) AND is_valid(r.ran, r.verification_code)
    AND measured_as(r.batch_size, r.threads, r.iterations_per_run, r.start, r.instrumented)
        = measured_as(n.batch_size, n.threads, n.iterations_per_run, n.start, n.instrumented)
    AND coalesce(r.policy = n.policy, true)
GROUP BY r.series_id
HAVING count(*) > 1
ORDER BY r.series_id
