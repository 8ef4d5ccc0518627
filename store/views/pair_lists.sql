-- Grain of pair_lists(baseline_backend, baseline_run, baseline_accelerator, runs): as geomeans, one row per run and series
-- without the model. What the paired rule (a mean over models valid on both sides) takes and leaves, left the result and
-- right its baseline, each as the sorted list of models: `paired`; `not_comparable` (valid on both sides, but a setting
-- differs); `only_left`, `only_right` (the other side was never attempted); `failed_left`, `failed_right` (attempted
-- there, and no valid result; a model may have failed on both).
CREATE OR REPLACE MACRO pair_lists(baseline_backend, baseline_run, baseline_accelerator := NULL, runs := NULL) AS TABLE
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
        max(baseline_run_id) AS baseline_run_id,
        bool_or(cross_device) AS cross_device,
        bool_or(valid) AS valid,
        bool_or(baseline_valid) AS baseline_valid,
        bool_or(speedup IS NOT NULL) AS paired,
        bool_or(status NOT IN ('skipped', 'verify_only', 'not_run')) AND NOT bool_or(valid) AS failed,
        coalesce(bool_or(baseline_status NOT IN ('skipped', 'verify_only', 'not_run')), false)
            AND NOT bool_or(baseline_valid) AS baseline_failed
    FROM speedups(baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs)
    GROUP BY run_id, suite_series_id, model
),
grouped AS (
    SELECT
        run_id,
        any_value(run_label) AS run_label,
        any_value(run_started) AS run_started,
        any_value(settings_id) AS settings_id,
        any_value(series) AS series,
        max(baseline_run_id) AS baseline_run_id,
        bool_or(cross_device) AS cross_device,
        count(*) FILTER (paired) AS n,
        coalesce(list(model ORDER BY model) FILTER (paired), []) AS paired,
        coalesce(list(model ORDER BY model) FILTER (valid AND baseline_valid AND NOT paired), []) AS not_comparable,
        coalesce(list(model ORDER BY model) FILTER (valid AND NOT baseline_valid AND NOT baseline_failed), [])
            AS only_left,
        coalesce(list(model ORDER BY model) FILTER (failed), []) AS failed_left,
        coalesce(list(model ORDER BY model) FILTER (baseline_failed), []) AS failed_right,
        coalesce(list(model) FILTER (valid OR failed), []) AS attempted
    FROM per_model
    GROUP BY run_id, suite_series_id
),
right_models AS (
    SELECT
        run_key, suite, test, settings_id,
        CASE WHEN baseline_accelerator IS NULL THEN accelerator END AS accelerator,
        list(DISTINCT model ORDER BY model) AS models
    FROM baselines(baseline_backend, baseline_run, baseline_accelerator, runs)
    WHERE valid
    GROUP BY ALL
)
SELECT
    g.run_id, g.run_label, g.run_started, series.*,
    g.* EXCLUDE (run_id, run_label, run_started, settings_id, series, attempted),
    baseline_backend AS baseline_backend,
    list_filter(coalesce(b.models, []), lambda m: NOT list_contains(g.attempted, m)) AS only_right
FROM grouped AS g
LEFT JOIN right_models AS b
    ON b.run_key = coalesce(nullif(baseline_run, 'same'), g.run_id)
    AND b.suite = g.series.suite AND b.test = g.series.test AND b.settings_id = g.settings_id
    AND (baseline_accelerator IS NOT NULL OR b.accelerator = g.series.accelerator);
