-- Grain: one row per series without the model and measure, from the run $before to the shown one, over the filtered models
-- that are valid, were measured alike (macro measured_as) and have the measure in both: `before` and `after` are geometric
-- means over them. `better` is above 1 where the shown run is better (less time; more of eager's memory saved), with the
-- 95 % t interval of its mean log, from three models on.
WITH now AS (
    SELECT * FROM result_rows
    WHERE is_valid(ran, verification_code) AND /*filters*/
),
pairs AS (
    SELECT
        n.suite, n.test, n.accelerator, n.accelerator_model, n.machine_id, n.environment, n.dtype, n.requested_batch_size,
        n.optimizer, n.loss, n.matmul_precision, n.workload, n.backend, n.variant,
        unnest(['first_iteration_s', 'compiler_time_s', 'memory_ratio']) AS measure,
        unnest([b.first_iteration_s, b.compiler_time_s, mb.memory_ratio]) AS before,
        unnest([n.first_iteration_s, n.compiler_time_s, mn.memory_ratio]) AS after
    FROM now AS n
    JOIN result_rows AS b ON b.run_id = $before AND b.series_id = n.series_id
        AND is_valid(b.ran, b.verification_code)
        AND measured_as(b.batch_size, b.threads, b.iterations_per_run, b.start, b.instrumented)
            = measured_as(n.batch_size, n.threads, n.iterations_per_run, n.start, n.instrumented)
        AND coalesce(b.policy = n.policy, true)
    LEFT JOIN memory AS mn ON mn.run_id = $run AND mn.record_id = n.record_id AND mn.variant <> 'eager'
    LEFT JOIN memory AS mb ON mb.run_id = $before AND mb.record_id = b.record_id AND mb.variant <> 'eager'
),
moved AS (
    SELECT *, CASE WHEN measure = 'memory_ratio' THEN ln(after / before) ELSE ln(before / after) END AS log_better
    FROM pairs
    WHERE before > 0 AND after > 0
),
grouped AS (
    SELECT
        suite, test, accelerator, accelerator_model, machine_id, environment, dtype, requested_batch_size, optimizer,
        loss, matmul_precision, workload, backend, variant, measure,
        count(*) AS n,
        exp(avg(ln(before))) AS before,
        exp(avg(ln(after))) AS after,
        avg(log_better) AS mean_log,
        stddev_samp(log_better) AS sd_log
    FROM moved
    GROUP BY ALL
)
SELECT
    g.* EXCLUDE (mean_log, sd_log),
    exp(g.mean_log) AS better,
    CASE WHEN g.n >= 3 THEN exp(g.mean_log - t.t * g.sd_log / sqrt(g.n)) END AS better_low,
    CASE WHEN g.n >= 3 THEN exp(g.mean_log + t.t * g.sd_log / sqrt(g.n)) END AS better_high
FROM grouped AS g
LEFT JOIN t_quantiles AS t ON t.freedom = least(g.n - 1, 400)
ORDER BY g.test, g.accelerator, g.suite, g.variant, g.environment, g.measure
