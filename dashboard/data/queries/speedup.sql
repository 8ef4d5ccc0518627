-- Queries of page Speedup.

-- name: speedups
-- Grain: as macro speedups, for the shown run. Only what page Speedup shows or needs: of thousands of rows every further
-- column costs each change of a filter.
SELECT
    run_id, experiment_id, environment, record_id, suite, model, test, accelerator, dtype, requested_batch_size, batch_size,
    machine_id, optimizer, loss, matmul_precision, workload, backend, variant, status, ran, verification_code, latency_s, steady_n,
    throughput_per_s, speedup, speedup_low, speedup_high, speedup_reason, baseline_run_id, baseline_record_id,
    baseline_latency_s, baseline_steady_n, cross_device, series_id
FROM speedups($baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR)
WHERE /*filters*/
ORDER BY test, accelerator, suite, model, variant, environment

-- name: speedup_curve
-- Grain: one row per result of the shown run that has a speedup, the baseline's own left out. `place` counts its series
-- from the slowest model on; `share` of the series' models have at most this speedup.
SELECT
    test, accelerator, suite, model, environment, dtype, requested_batch_size, machine_id, optimizer, loss,
    matmul_precision, workload, backend, variant, speedup, speedup_low, speedup_high,
    row_number() OVER series AS place,
    count(*) OVER (PARTITION BY test, accelerator, machine_id, settings_id, variant) AS results_n,
    place / results_n AS share,
    run_id, experiment_id
FROM speedups($baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR)
WHERE speedup > 0 AND record_id <> baseline_record_id AND /*filters*/
WINDOW series AS (PARTITION BY test, accelerator, machine_id, settings_id, variant ORDER BY speedup, suite, model)
ORDER BY test, accelerator, variant, environment, place

-- name: against
-- Grain: one row per result of variant $series_b in the shown run, beside the result of variant $series_a that it is
-- comparable with (macro speedups with A as the baseline). `ratio` is the latency of A over that of B: above 1 B is faster.
-- `speedup_a` and `speedup_b` are over the page's baseline.
WITH over_baseline AS (
    SELECT record_id, speedup
    FROM speedups(
        $baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR
    )
    WHERE run_id = $run
),
pairs_ab AS (
    SELECT *
    FROM speedups($series_a::VARCHAR, $run::VARCHAR)
    WHERE variant = $series_b AND /*filters*/
)
SELECT
    p.test, p.accelerator, p.suite, p.model, p.environment, p.dtype, p.batch_size, p.status,
    p.baseline_latency_s AS latency_a_s,
    p.baseline_steady_n AS n_a,
    p.latency_s AS latency_b_s,
    p.steady_n AS n_b,
    p.speedup AS ratio,
    p.speedup_low AS ratio_low,
    p.speedup_high AS ratio_high,
    p.speedup_reason AS reason,
    a.speedup AS speedup_a,
    b.speedup AS speedup_b,
    p.run_id, p.experiment_id
FROM pairs_ab AS p
LEFT JOIN over_baseline AS a ON a.record_id = p.baseline_record_id
LEFT JOIN over_baseline AS b ON b.record_id = p.record_id
ORDER BY p.test, p.accelerator, ratio, p.suite, p.model

-- name: latency_history
-- Grain: one row per series with a valid latency in the shown run that at least one other of the runs $runs has measured
-- alike (macro measured_as), in the same epoch and without a wrong answer: those latencies in seconds, from the oldest run
-- on.
SELECT r.series_id, list(r.latency_s ORDER BY r.run_started, r.run_id) AS trend
FROM result_rows AS r
JOIN result_rows AS n ON n.run_id = $run AND n.series_id = r.series_id AND is_valid(n.ran, n.verification_code)
LEFT JOIN epochs AS e ON e.series_id = r.series_id
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[])) AND is_valid(r.ran, r.verification_code)
    AND measured_as(r.batch_size, r.threads, r.iterations_per_run, r.start, r.instrumented)
        = measured_as(n.batch_size, n.threads, n.iterations_per_run, n.start, n.instrumented)
    AND NOT other_policy(r.policy, n.policy)
    AND epoch_at(e.begins, r.run_started) = epoch_at(e.begins, n.run_started)
GROUP BY r.series_id
HAVING count(*) > 1
ORDER BY r.series_id
