-- Grain of geomeans(baseline_backend, baseline_run, models, runs, baseline_accelerator, clean_of): one row per run and series
-- without the model: suite, test, accelerator (and its model, machine), environment, dtype, requested batch size, train
-- settings, backend and variant. `models` (NULL: all) narrows what is averaged and counted, `runs` (NULL: all) the runs;
-- `clean_of` (of 'no fallback ops', 'no graph breaks') leaves out the models of which a result of the run and test has any.
-- With `baseline_accelerator` the baseline may be of another device: such a mean is cross-device and has no interval.
-- `geomean` is over the `n` models that are valid on both sides and comparable (several batch sizes of a model count as
-- their geomean); the interval is exp of the 95 % t interval of the mean log, from three models on.
CREATE OR REPLACE MACRO geomeans(
    baseline_backend, baseline_run, models := NULL, runs := NULL, baseline_accelerator := NULL, clean_of := []
) AS TABLE
WITH per_model AS (
    SELECT
        run_id, suite_series_id, model,
        any_value(settings_id) AS settings_id,
        any_value({
            suite: suite, test: test, accelerator: accelerator, accelerator_model: accelerator_model,
            machine_id: machine_id, environment: environment, dtype: dtype, requested_batch_size: requested_batch_size,
            optimizer: optimizer, loss: loss, matmul_precision: matmul_precision, workload: workload, backend: backend,
            variant: variant
        }) AS series,
        any_value(run_label) AS run_label,
        any_value(run_started) AS run_started,
        any_value(plan_known) AS plan_known,
        max(baseline_run_id) AS baseline_run_id,
        bool_or(cross_device) AS cross_device,
        avg(ln(speedup)) FILTER (speedup > 0) AS log_speedup,
        bool_or(valid) AS valid,
        bool_or(baseline_valid) AS baseline_valid,
        bool_or(status NOT IN ('skipped', 'verify_only', 'not_run') AND NOT valid) AS failed,
        count(*) AS planned_n,
        count(*) FILTER (ran) AS ran_n,
        count(*) FILTER (ran OR status = 'verify_only') AS answered_n,
        count(*) FILTER ((ran OR status = 'verify_only') AND verification_code = 'PASS') AS verified_n,
        coalesce(bool_or(is_checked(verification_code)), false) AS verify_asked
    FROM speedups(
        baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs, models := models
    )
    ANTI JOIN unclean(clean_of, runs) USING (run_id, suite, model, test)
    GROUP BY run_id, suite_series_id, model
),
grouped AS (
    SELECT
        run_id,
        any_value(settings_id) AS settings_id,
        any_value(run_label) AS run_label,
        any_value(run_started) AS run_started,
        any_value(plan_known) AS plan_known,
        any_value(series) AS series,
        max(baseline_run_id) AS baseline_run_id,
        coalesce(bool_or(cross_device), false) AS cross_device,
        count(log_speedup) AS n,
        avg(log_speedup) AS mean_log,
        stddev_samp(log_speedup) AS sd_log,
        sum(planned_n)::BIGINT AS planned_n,
        sum(ran_n)::BIGINT AS ran_n,
        sum(answered_n)::BIGINT AS answered_n,
        sum(verified_n)::BIGINT AS verified_n,
        bool_or(verify_asked) AS verify_asked,
        coalesce(list(model ORDER BY model) FILTER (valid AND NOT baseline_valid), []) AS only_here,
        coalesce(list(model ORDER BY model) FILTER (valid AND baseline_valid AND log_speedup IS NULL), [])
            AS not_comparable,
        coalesce(list(model ORDER BY model) FILTER (failed AND NOT valid), []) AS failed,
        coalesce(list(model) FILTER (valid), []) AS valid_models
    FROM per_model
    GROUP BY run_id, suite_series_id
),
baselines AS (
    SELECT
        run_key, suite, test, settings_id,
        CASE WHEN baseline_accelerator IS NULL THEN accelerator END AS accelerator,
        list(DISTINCT model ORDER BY model) AS baseline_models
    FROM baselines(baseline_backend, baseline_run, baseline_accelerator, runs, models := models)
    WHERE valid
    GROUP BY ALL
)
SELECT
    g.run_id, g.run_label, g.run_started, g.plan_known, series.*,
    g.* EXCLUDE (run_id, run_label, run_started, plan_known, settings_id, series, mean_log, sd_log, valid_models),
    baseline_backend AS baseline_backend,
    exp(g.mean_log) AS geomean,
    CASE WHEN g.n >= 3 AND NOT g.cross_device THEN exp(g.mean_log - t.t * g.sd_log / sqrt(g.n)) END AS geomean_low,
    CASE WHEN g.n >= 3 AND NOT g.cross_device THEN exp(g.mean_log + t.t * g.sd_log / sqrt(g.n)) END AS geomean_high,
    list_filter(coalesce(b.baseline_models, []), lambda m: NOT list_contains(g.valid_models, m)) AS only_baseline
FROM grouped AS g
LEFT JOIN baselines AS b
    ON b.run_key = coalesce(nullif(baseline_run, 'same'), g.run_id)
    AND b.suite = g.series.suite AND b.test = g.series.test AND b.settings_id = g.settings_id
    AND (baseline_accelerator IS NOT NULL OR b.accelerator = g.series.accelerator)
LEFT JOIN t_quantiles AS t ON t.freedom = least(g.n - 1, 400);
