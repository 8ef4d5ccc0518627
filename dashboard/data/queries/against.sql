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
