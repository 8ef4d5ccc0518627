-- Queries of page Overview.

-- name: counts
-- Grain: one row per series without the model, of the shown run: how many of its models came how far, and what compiling
-- cost the valid ones (no disturbed result, no wrong answer) whose processes started as most did, `usual_start`: compile times
-- of another start are not comparable, and `other_start_n` results have one. The keys are those of macro geomeans. Of several
-- reasons that are as frequent, the first of the alphabet is the main one, and `main_reason_n` results have it. Functions of
-- lists take half of the time of the aggregates that say the same.
SELECT
    suite, test, accelerator, accelerator_model, machine_id, environment, dtype, requested_batch_size,
    optimizer, loss, matmul_precision, workload, backend, variant,
    count(*) AS results_n,
    count(*) FILTER (ran) AS measured_n,
    count(*) FILTER (status = 'skipped') AS skipped_n,
    count(*) FILTER (status = 'verify_only') AS verify_only_n,
    count(*) FILTER (status = 'never_steady') AS never_steady_n,
    count(*) FILTER (status = 'disturbed') AS disturbed_n,
    count(*) FILTER (status = 'not_run') AS not_run_n,
    count(*) FILTER (is_failed(ran, status)) AS failed_n,
    count(*) FILTER (is_checked(verification_code)) AS checked_n,
    count(*) FILTER (verification_code = 'PASS') AS right_n,
    count(*) FILTER (ran AND NOT valid) AS wrong_n,
    list_median(list(first_iteration_s) FILTER (alike)) AS first_iteration_s,
    count(first_iteration_s) FILTER (alike) AS first_iteration_n,
    list_median(list(compiler_time_s) FILTER (alike)) AS compiler_time_s,
    count(compiler_time_s) FILTER (alike) AS compiler_time_n,
    any_value(usual_start) AS usual_start,
    count(*) FILTER (valid AND NOT alike) AS other_start_n,
    coalesce(len(list_distinct(list(model) FILTER (fallback_ops_n > 0))), 0) AS fallback_models_n,
    coalesce(len(list_distinct(list(model) FILTER (fallback_ops_n IS NOT NULL))), 0) AS fallback_known_n,
    list_mode(list_sort(list(reason) FILTER (NOT ran))) AS main_reason,
    len(list_filter(list(reason) FILTER (NOT ran), lambda reason: reason = main_reason)) AS main_reason_n
FROM (
    SELECT
        *,
        CASE WHEN 2 * count(*) FILTER (valid AND start = 'interpreter') OVER same > count(start) FILTER (valid) OVER same
            THEN 'interpreter' ELSE 'fork' END AS usual_start,
        valid AND coalesce(start = usual_start, true) AS alike
    FROM (SELECT *, is_valid(ran, verification_code) AS valid FROM result_rows WHERE /*filters*/)
    WINDOW same AS (PARTITION BY suite_series_id)
)
GROUP BY ALL
ORDER BY test, accelerator, suite, backend, variant, environment, dtype

-- name: geomeans
-- Grain: as macro geomeans, for the shown run, over the filtered models.
SELECT *
FROM geomeans(
    $baseline_backend::VARCHAR,
    $baseline_run::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    baseline_accelerator := $baseline_accelerator::VARCHAR,
    clean_of := $only::VARCHAR[]
)
WHERE run_id = $run AND /*filters without run model*/
ORDER BY test, accelerator, suite, variant, environment

-- name: last_geomeans
-- Grain: one row per series without the model that has a mean in the shown run and, over the same models, measured alike
-- and in the same epoch, in other runs of $runs: `trend` is those means over the filtered models, from the oldest run on. A
-- run that lacks any of the models is left out, as a mean over the others is no number to compare with. $only leaves out
-- models of the shown run, as it does in macro geomean_changes.
WITH behind AS (
    SELECT *
    FROM model_speedups(
        $baseline_backend::VARCHAR, $point::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR,
        runs := $runs::VARCHAR[], models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END
    )
    WHERE log_speedup IS NOT NULL
),
shown AS (
    SELECT *, count(*) OVER (PARTITION BY suite_series_id) AS models_n
    FROM behind
    ANTI JOIN unclean($only::VARCHAR[], [$run]) USING (suite, model, test)
    WHERE run_id = $run
),
means AS (
    SELECT suite_series_id, b.run_id, b.run_started, exp(avg(b.log_speedup)) AS geomean
    FROM behind AS b
    JOIN shown AS s USING (suite_series_id, model)
    WHERE s.batch_sizes IS NOT DISTINCT FROM b.batch_sizes AND s.threads IS NOT DISTINCT FROM b.threads
        AND s.iterations_per_run IS NOT DISTINCT FROM b.iterations_per_run AND s.start IS NOT DISTINCT FROM b.start
        AND s.instrumented IS NOT DISTINCT FROM b.instrumented AND NOT other_policy(s.policy, b.policy)
        AND s.epoch = b.epoch
    GROUP BY suite_series_id, b.run_id, b.run_started
    HAVING count(*) = any_value(s.models_n)
)
SELECT names.* EXCLUDE (suite_series_id), trend
FROM (
    SELECT suite_series_id, list(geomean ORDER BY run_started, run_id) AS trend
    FROM means
    GROUP BY suite_series_id
    HAVING count(*) > 1
)
JOIN suite_series_names([$run]) AS names USING (suite_series_id)
WHERE /*filters without run model*/
ORDER BY test, accelerator, suite, variant, environment

-- name: geomean_changes
-- Grain: as macro geomean_changes, from the run $before to the shown one, over the filtered models.
SELECT *
FROM geomean_changes(
    $baseline_backend::VARCHAR,
    $baseline_point::VARCHAR,
    $before::VARCHAR,
    $run::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    baseline_accelerator := $baseline_accelerator::VARCHAR,
    clean_of := $only::VARCHAR[]
)
WHERE /*filters without run model*/
ORDER BY test, accelerator, suite, variant, environment

-- name: memory_ratios
-- Grain: one row per series without the model, of the shown run: the geometric mean of its valid results' memory ratios
-- (view memory: eager's peak over the own one) and how many models have one. The keys are those of macro geomeans.
SELECT
    r.suite, r.test, r.accelerator, r.accelerator_model, r.machine_id, r.environment, r.dtype, r.requested_batch_size,
    r.optimizer, r.loss, r.matmul_precision, r.workload, r.backend, r.variant,
    exp(avg(ln(m.memory_ratio))) AS memory_ratio,
    count(m.memory_ratio) AS memory_n
FROM (SELECT * FROM result_rows WHERE /*filters*/) AS r
JOIN memory AS m
    ON m.run_id = $run AND m.run_id = r.run_id AND m.result_id = r.result_id
WHERE m.memory_ratio IS NOT NULL AND r.variant <> 'eager'
    AND is_valid(r.ran, r.verification_code)
GROUP BY ALL

-- name: cost_changes
-- Grain: one row per series without the model and measure, from the run $before to the shown one, over the filtered models
-- that are valid, were measured alike (macro measured_as) and in the same epoch, and have the measure in both: `before` and
-- `after` are geometric means over these `n`; `otherwise_n` more have it in both, and are left out as they were measured
-- differently, or as a mark lies between the two runs. `better` is above 1 where the shown run is better (less time; more of
-- eager's memory saved), with the 95 % t interval of its mean log, from three models on.
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
        unnest([n.first_iteration_s, n.compiler_time_s, mn.memory_ratio]) AS after,
        coalesce(
            measured_as(b.batch_size, b.threads, b.iterations_per_run, b.start, b.instrumented)
                = measured_as(n.batch_size, n.threads, n.iterations_per_run, n.start, n.instrumented)
                AND NOT other_policy(b.policy, n.policy)
                AND NOT is_mark_between(e.begins, n.run_started, NULL, b.run_started),
            false
        ) AS alike
    FROM now AS n
    JOIN result_rows AS b ON b.run_id = $before AND b.series_id = n.series_id
        AND is_valid(b.ran, b.verification_code)
    LEFT JOIN epochs AS e ON e.series_id = n.series_id
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
        count(*) FILTER (alike) AS n,
        count(*) FILTER (NOT alike) AS otherwise_n,
        exp(avg(ln(before)) FILTER (alike)) AS before,
        exp(avg(ln(after)) FILTER (alike)) AS after,
        avg(log_better) FILTER (alike) AS mean_log,
        stddev_samp(log_better) FILTER (alike) AS sd_log
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

-- name: pairing
-- Grain: one row per series without the model, of the shown run, and what the paired rule does with a model: `paired`, or why
-- not (as macro pair_lists: left the result, right its baseline), with the filtered models of which that holds.
WITH lists AS (
    SELECT
        * EXCLUDE (n, paired, not_comparable, only_left, only_right, failed_left, failed_right),
        unnest(['paired', 'not_comparable', 'only_left', 'only_right', 'failed_left', 'failed_right']) AS why,
        unnest([paired, not_comparable, only_left, only_right, failed_left, failed_right]) AS models
    FROM pair_lists(
        $baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR
    )
    WHERE run_id = $run
),
named AS (
    SELECT * EXCLUDE (models), unnest(models) AS model FROM lists
),
grouped AS (
    SELECT
        test, accelerator, suite, environment, dtype, requested_batch_size, machine_id, optimizer, loss, matmul_precision,
        workload, backend, variant, why,
        count(*) AS n,
        list(model ORDER BY model) AS models
    FROM named
    WHERE /*filters*/
    GROUP BY ALL
)
SELECT *
FROM grouped
ORDER BY test, accelerator, suite, variant, environment, why <> 'paired', why

-- name: attention
-- Grain: one row per result of the shown run that needs a look; wrong answers first, then failures, what could not be
-- verified, disturbed, never steady, not run, slower.
-- Eager is a reference that is compiled by nothing: being slower than a compiler is no finding about it.
WITH judged AS (
    SELECT
        CASE
            WHEN status = 'skipped' THEN NULL
            WHEN verification_code = 'FAIL' THEN 'wrong answer'
            WHEN status = 'never_steady' THEN 'never steady'
            WHEN status = 'disturbed' THEN 'disturbed'
            WHEN status = 'not_run' THEN 'not run'
            WHEN NOT ran AND status <> 'verify_only' THEN 'failed'
            WHEN verification_code IN ('EAGER_FAILED', 'EXCEPTION_RAISED', 'NONDETERMINISTIC_EAGER_RUN')
                OR status = 'verify_only' AND verification_code = 'VERIFIER_DIDNT_RUN' THEN 'not verified'
            WHEN speedup_high < 1 AND backend <> 'eager' THEN 'slower than baseline'
        END AS finding,
        *
    FROM speedups($baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR)
    WHERE /*filters*/
)
SELECT
    run_id, experiment_id, finding, status, suite, model, test, accelerator, dtype, backend, variant, environment,
    failure_phase,
    CASE WHEN finding IN ('wrong answer', 'not verified') THEN 'verification ' || verification_code
        WHEN finding <> 'slower than baseline' THEN coalesce(reason, speedup_reason) END AS reason,
    speedup, speedup_low, speedup_high, latency_s, steady_n, baseline_latency_s, baseline_steady_n
FROM judged
WHERE finding IS NOT NULL
ORDER BY
    CASE finding WHEN 'wrong answer' THEN 0 WHEN 'failed' THEN 1 WHEN 'not verified' THEN 2
        WHEN 'disturbed' THEN 3 WHEN 'never steady' THEN 4 WHEN 'not run' THEN 5 ELSE 6 END,
    speedup, suite, model, test, variant

-- name: failing
-- Grain: one row per series that fails in the shown run: its state by its newest ten answers up to it (macro
-- failure_states), new, persistent or flaky.
WITH failing AS (
    SELECT *
    FROM result_rows
    WHERE outcome(status, ran, verification_code) = 'F' AND /*filters*/
)
SELECT s.state, r.suite, r.model, r.test, r.accelerator, r.backend, r.dtype, r.variant, r.environment
FROM failure_states(
    10, until := $until::TIMESTAMP, series := (SELECT coalesce(list(series_id), []) FROM failing)
) AS s
JOIN failing AS r ON r.run_id = s.run_id AND r.series_id = s.series_id
ORDER BY r.suite, r.model, r.test, r.variant, r.environment
