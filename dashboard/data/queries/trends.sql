-- Queries of page Trends.

-- name: trend_models
-- Grain: one row per model that the runs $runs planned for one suite, test and accelerator.
SELECT DISTINCT model
FROM result_rows
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
    AND suite = $of_suite AND test = $of_test AND accelerator = $of_accelerator AND status <> 'skipped'
    AND (len($model::VARCHAR[]) = 0 OR list_contains($model::VARCHAR[], model))
ORDER BY lower(model), model

-- name: trend_without
-- Grain: one row per status of results in the runs $runs of one suite, test and accelerator that have no valid number.
SELECT CASE WHEN ran THEN 'wrong' ELSE status END AS status, count(*) AS results_n
FROM result_rows
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
    AND suite = $of_suite AND test = $of_test AND accelerator = $of_accelerator
    AND NOT is_valid(ran, verification_code)
    AND (len($model::VARCHAR[]) = 0 OR list_contains($model::VARCHAR[], model))
    AND (len($backend::VARCHAR[]) = 0 OR list_contains($backend::VARCHAR[], backend))
    AND (len($dtype::VARCHAR[]) = 0 OR list_contains($dtype::VARCHAR[], dtype))
GROUP BY ALL
ORDER BY results_n DESC, status

-- name: trend_history
-- Grain: as view history, for the runs $runs of one model, suite, test and accelerator.
SELECT
    series_id, epoch, run_id, run_label, run_started, suite, model, test, accelerator, accelerator_model, backend, variant,
    environment, machine_id, dtype, requested_batch_size, optimizer, loss, matmul_precision, workload, status, ran, reason,
    steady_n, latency_s, latency_low_s, latency_high_s, first_iteration_s, compiler_time_s, peak_memory_bytes, valid,
    measured, batch_size, threads, iterations_per_run, start, policy
FROM history
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
    AND suite = $of_suite AND model = $of_model AND test = $of_test AND accelerator = $of_accelerator
    AND (len($backend::VARCHAR[]) = 0 OR list_contains($backend::VARCHAR[], backend))
    AND (len($dtype::VARCHAR[]) = 0 OR list_contains($dtype::VARCHAR[], dtype))
ORDER BY run_started, run_id, variant, environment

-- name: trend_geomeans
-- Grain: as macro geomeans, for the runs $runs, over the filtered models.
SELECT
    run_id, run_label, run_started, suite, test, accelerator, accelerator_model, machine_id, environment, dtype,
    requested_batch_size, optimizer, loss, matmul_precision, workload, backend, variant, baseline_run_id, n, geomean,
    geomean_low, geomean_high, planned_n, ran_n, answered_n, verified_n, verify_asked
FROM geomeans(
    $baseline_backend::VARCHAR,
    $point::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    runs := $runs::VARCHAR[],
    baseline_accelerator := $baseline_accelerator::VARCHAR,
    clean_of := $only::VARCHAR[]
)
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
    AND /*filters without run model*/
ORDER BY run_started, run_id, test, accelerator, suite, variant, environment

-- name: trend_steps
-- Grain: as macro geomean_steps, for the runs $runs, over the filtered models.
SELECT *
FROM geomean_steps(
    $baseline_backend::VARCHAR,
    $point::VARCHAR,
    $runs::VARCHAR[],
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    baseline_accelerator := $baseline_accelerator::VARCHAR,
    clean_of := $only::VARCHAR[]
)
WHERE /*filters without run model*/
ORDER BY run_id, test, accelerator, suite, variant, environment

-- name: changes
-- Grain: as view series_changes: one row per confirmed change of a series' latency, the newest first.
SELECT
    started_after, suite, model, test, accelerator, accelerator_model, backend, variant, environment, machine_id, dtype,
    requested_batch_size, optimizer, loss, matmul_precision, workload, run_label, run_before, run_after, started_before,
    latency_before_s, latency_after_s, change_ratio, change_low, change_high, before_n, after_n, p_value, series_id
FROM series_changes
WHERE /*filters without run*/
ORDER BY started_after DESC, suite, model, test, variant

-- name: marks
-- Grain: one row per mark of a person, the newest first.
SELECT
    mark_id, marked_at, text, who, created_at, run_id, suite, model, test, backend, variant, environment, accelerator,
    accelerator_model, machine_id
FROM marks
ORDER BY marked_at DESC, mark_id

-- name: rule_begins
-- Grain: at most one row: the first run whose turns were judged, where the store has runs of ours from before that.
SELECT
    min(run_started) FILTER (quiet_rule IS NOT NULL) AS marked_at,
    'disturbed turns are left out from here on' AS text,
    'xlabench' AS who
FROM result_rows
WHERE source = 'xlabench' AND ran
HAVING min(run_started) FILTER (quiet_rule IS NULL) < min(run_started) FILTER (quiet_rule IS NOT NULL)
