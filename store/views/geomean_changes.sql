-- Grain of geomean_changes(baseline_backend, baseline_run, before, after, models, baseline_accelerator, clean_of): one
-- row per series without the model, as geomeans, of the runs `before` and `after`: how the geometric mean of speedups
-- moved over the `n` results that have a speedup in both and were measured alike (macro measured_as). `geomean_change`
-- is after / before, above 1 better, with the 95 % t interval of the mean log over results, from three on; it is the
-- product of `by_backend` (own time before / after) and `by_baseline` (the baseline's time after / before), each with
-- its interval of the same kind: a speedup also moves when only its baseline does. `only_before_n`, `only_after_n`:
-- results with a speedup in one run alone; `otherwise_n`: with one in both that were measured with other threads, batch
-- sizes, or iterations per block. `measured` (macro measured_as without the batch size) and `policy` are those of the `n`.
CREATE OR REPLACE MACRO geomean_changes(
    baseline_backend, baseline_run, before, after, models := NULL, baseline_accelerator := NULL, clean_of := []
) AS TABLE
WITH sides AS (
    SELECT *
    FROM speedups(
        baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := [before, after],
        models := models
    )
    WHERE speedup > 0
),
per_series AS (
    SELECT
        series_id, suite_series_id,
        any_value({
            suite: suite, test: test, accelerator: accelerator, accelerator_model: accelerator_model,
            machine_id: machine_id, environment: environment, dtype: dtype, requested_batch_size: requested_batch_size,
            optimizer: optimizer, loss: loss, matmul_precision: matmul_precision, workload: workload, backend: backend,
            variant: variant
        }) AS series,
        min(measured_as(NULL, threads, iterations_per_run, start, instrumented)) AS measured,
        max(policy) AS policy,
        any_value(speedup) FILTER (run_id = before) AS speedup_before,
        any_value(speedup) FILTER (run_id = after) AS speedup_after,
        min(measured_as(batch_size, threads, iterations_per_run, start, instrumented))
            <> max(measured_as(batch_size, threads, iterations_per_run, start, instrumented))
            OR coalesce(min(policy) <> max(policy), false) AS otherwise,
        any_value(latency_s) FILTER (run_id = before) / any_value(latency_s) FILTER (run_id = after) AS by_backend,
        any_value(baseline_latency_s) FILTER (run_id = after) / any_value(baseline_latency_s) FILTER (run_id = before)
            AS by_baseline
    FROM sides
    ANTI JOIN unclean(clean_of, [after]) USING (suite, model, test)
    GROUP BY series_id, suite_series_id
),
grouped AS (
    SELECT
        any_value(series) AS series,
        min(measured) FILTER (alike) AS measured,
        max(policy) FILTER (alike) AS policy,
        count(*) FILTER (alike) AS n,
        exp(avg(ln(speedup_before)) FILTER (alike)) AS geomean_before,
        exp(avg(ln(speedup_after)) FILTER (alike)) AS geomean_after,
        avg(ln(speedup_after / speedup_before)) FILTER (alike) AS mean_log,
        stddev_samp(ln(speedup_after / speedup_before)) FILTER (alike) AS sd_log,
        avg(ln(by_backend)) FILTER (alike) AS backend_log,
        stddev_samp(ln(by_backend)) FILTER (alike) AS backend_sd,
        avg(ln(by_baseline)) FILTER (alike) AS baseline_log,
        stddev_samp(ln(by_baseline)) FILTER (alike) AS baseline_sd,
        count(*) FILTER (speedup_after IS NULL) AS only_before_n,
        count(*) FILTER (speedup_before IS NULL) AS only_after_n,
        count(*) FILTER (otherwise) AS otherwise_n
    FROM (
        SELECT *, speedup_before IS NOT NULL AND speedup_after IS NOT NULL AND NOT otherwise AS alike
        FROM per_series
    )
    GROUP BY suite_series_id
)
SELECT
    series.*,
    g.* EXCLUDE (series, mean_log, sd_log, backend_log, backend_sd, baseline_log, baseline_sd),
    exp(g.mean_log) AS geomean_change,
    CASE WHEN g.n >= 3 THEN exp(g.mean_log - t.t * g.sd_log / sqrt(g.n)) END AS geomean_change_low,
    CASE WHEN g.n >= 3 THEN exp(g.mean_log + t.t * g.sd_log / sqrt(g.n)) END AS geomean_change_high,
    exp(g.backend_log) AS by_backend,
    CASE WHEN g.n >= 3 THEN exp(g.backend_log - t.t * g.backend_sd / sqrt(g.n)) END AS by_backend_low,
    CASE WHEN g.n >= 3 THEN exp(g.backend_log + t.t * g.backend_sd / sqrt(g.n)) END AS by_backend_high,
    exp(g.baseline_log) AS by_baseline,
    CASE WHEN g.n >= 3 THEN exp(g.baseline_log - t.t * g.baseline_sd / sqrt(g.n)) END AS by_baseline_low,
    CASE WHEN g.n >= 3 THEN exp(g.baseline_log + t.t * g.baseline_sd / sqrt(g.n)) END AS by_baseline_high
FROM grouped AS g
LEFT JOIN t_quantiles AS t ON t.freedom = least(g.n - 1, 400);
