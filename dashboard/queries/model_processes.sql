-- Grain: one row per process of one experiment in one run (the attempt that is shown).
SELECT
    p.record_id, p.replica, p.status, p.reason, p.steady_n, p.latency_s, p.latency_low_s, p.latency_high_s,
    p.latency_spread, p.first_iteration_s, p.start, p.finished_at
FROM result_rows AS r
JOIN records AS p
    ON p.run_id = r.run_id AND p.experiment_id = r.experiment_id AND p.environment IS NOT DISTINCT FROM r.environment
    AND p.attempt = r.attempt AND p.purpose = 'benchmark' AND p.twin_of IS NULL
WHERE r.run_id = $run AND r.experiment_id = $experiment AND r.environment IS NOT DISTINCT FROM $environment
ORDER BY p.replica
