-- Grain: one row per run of the series $series, the newest 60.
SELECT
    series_id, epoch, run_id, run_label, run_started, variant, backend, status, ran, latency_s, latency_low_s,
    latency_high_s, steady_n, reason, valid, measured, batch_size, threads, iterations_per_run, start, policy
FROM history
WHERE series_id = $series
ORDER BY run_started DESC, run_id
LIMIT 60
