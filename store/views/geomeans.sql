-- Views of geometric means over models.

-- name: geomeans
-- Grain of model_speedups(baseline_backend, baseline_run, baseline_accelerator, runs, models, clean_of): one row per run,
-- series without the model and model, of the rows of speedups that macro geomeans counts: what became of the model's
-- results and of their baselines, and the mean log of their speedups. `series` is the identity of the series of the suite,
-- that of macro suite_series: a struct of aggregates, as an aggregate of structs takes longer.
CREATE OR REPLACE MACRO model_speedups(
    baseline_backend, baseline_run, baseline_accelerator := NULL, runs := NULL, models := NULL, clean_of := []
) AS TABLE
SELECT
    run_id, suite_series_id, model,
    any_value(settings_id) AS settings_id,
    {
        suite: any_value(suite),
        test: any_value(test),
        accelerator: any_value(accelerator),
        accelerator_model: any_value(accelerator_model),
        machine_id: any_value(machine_id),
        environment: any_value(environment),
        dtype: any_value(dtype),
        requested_batch_size: any_value(requested_batch_size),
        optimizer: any_value(optimizer),
        loss: any_value(loss),
        matmul_precision: any_value(matmul_precision),
        workload: any_value(workload),
        backend: any_value(backend),
        variant: any_value(variant)
    } AS series,
    any_value(run_label) AS run_label,
    any_value(run_started) AS run_started,
    any_value(plan_known) AS plan_known,
    max(baseline_run_id) AS baseline_run_id,
    bool_or(cross_device) AS cross_device,
    avg(ln(speedup)) FILTER (speedup > 0) AS log_speedup,
    bool_or(valid) AS valid,
    bool_or(baseline_valid) AS baseline_valid,
    bool_or(status NOT IN ('skipped', 'verify_only', 'not_run')) AND NOT bool_or(valid) AS failed,
    coalesce(bool_or(baseline_status NOT IN ('skipped', 'verify_only', 'not_run')), false)
        AND NOT bool_or(baseline_valid) AS baseline_failed,
    count(*) AS planned_n,
    count(*) FILTER (ran) AS ran_n,
    count(*) FILTER (ran OR status = 'verify_only') AS answered_n,
    count(*) FILTER ((ran OR status = 'verify_only') AND verification_code = 'PASS') AS verified_n,
    coalesce(bool_or(is_checked(verification_code)), false) AS verify_asked
FROM speedups(
    baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs, models := models
)
ANTI JOIN unclean(clean_of, runs) USING (run_id, suite, model, test)
GROUP BY run_id, suite_series_id, model;

-- Grain of baseline_models(baseline_backend, baseline_run, baseline_accelerator, runs, models): one row per point in time,
-- suite, test, settings and accelerator (NULL where `baseline_accelerator` names one) of macro baselines: the sorted
-- models that have a valid baseline.
CREATE OR REPLACE MACRO baseline_models(
    baseline_backend, baseline_run, baseline_accelerator := NULL, runs := NULL, models := NULL
) AS TABLE
SELECT
    run_key, suite, test, settings_id,
    CASE WHEN baseline_accelerator IS NULL THEN accelerator END AS accelerator,
    list(DISTINCT model ORDER BY model) AS baseline_models
FROM baselines(baseline_backend, baseline_run, baseline_accelerator, runs, models := models)
WHERE valid
GROUP BY ALL;

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
WITH grouped AS (
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
        coalesce(list(model ORDER BY model) FILTER (failed), []) AS failed,
        coalesce(list(model) FILTER (valid), []) AS valid_models
    FROM model_speedups(
        baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs, models := models,
        clean_of := clean_of
    )
    GROUP BY run_id, suite_series_id
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
LEFT JOIN baseline_models(
    baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs, models := models
) AS b
    ON b.run_key = coalesce(nullif(baseline_run, 'same'), g.run_id)
    AND b.suite = g.series.suite AND b.test = g.series.test AND b.settings_id = g.settings_id
    AND (baseline_accelerator IS NOT NULL OR b.accelerator = g.series.accelerator)
LEFT JOIN t_quantiles AS t ON t.freedom = least(g.n - 1, 400);

-- name: pair_lists
-- Grain of pair_lists(baseline_backend, baseline_run, baseline_accelerator, runs): as geomeans, one row per run and series
-- without the model. What the paired rule (a mean over models valid on both sides) takes and leaves, left the result and
-- right its baseline, each as the sorted list of models: `paired`; `not_comparable` (valid on both sides, but a setting
-- differs); `only_left`, `only_right` (the other side was never attempted); `failed_left`, `failed_right` (attempted
-- there, and no valid result; a model may have failed on both).
CREATE OR REPLACE MACRO pair_lists(baseline_backend, baseline_run, baseline_accelerator := NULL, runs := NULL) AS TABLE
WITH grouped AS (
    SELECT
        run_id,
        any_value(run_label) AS run_label,
        any_value(run_started) AS run_started,
        any_value(settings_id) AS settings_id,
        any_value(series) AS series,
        max(baseline_run_id) AS baseline_run_id,
        bool_or(cross_device) AS cross_device,
        count(log_speedup) AS n,
        coalesce(list(model ORDER BY model) FILTER (log_speedup IS NOT NULL), []) AS paired,
        coalesce(list(model ORDER BY model) FILTER (valid AND baseline_valid AND log_speedup IS NULL), [])
            AS not_comparable,
        coalesce(list(model ORDER BY model) FILTER (valid AND NOT baseline_valid AND NOT baseline_failed), [])
            AS only_left,
        coalesce(list(model ORDER BY model) FILTER (failed), []) AS failed_left,
        coalesce(list(model ORDER BY model) FILTER (baseline_failed), []) AS failed_right,
        coalesce(list(model) FILTER (valid OR failed), []) AS attempted
    FROM model_speedups(baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs)
    GROUP BY run_id, suite_series_id
)
SELECT
    g.run_id, g.run_label, g.run_started, series.*,
    g.* EXCLUDE (run_id, run_label, run_started, settings_id, series, attempted),
    baseline_backend AS baseline_backend,
    list_filter(coalesce(b.baseline_models, []), lambda m: NOT list_contains(g.attempted, m)) AS only_right
FROM grouped AS g
LEFT JOIN baseline_models(
    baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs
) AS b
    ON b.run_key = coalesce(nullif(baseline_run, 'same'), g.run_id)
    AND b.suite = g.series.suite AND b.test = g.series.test AND b.settings_id = g.settings_id
    AND (baseline_accelerator IS NOT NULL OR b.accelerator = g.series.accelerator);

-- name: geomean_changes
-- Grain of geomean_changes(baseline_backend, baseline_run, before, after, models, baseline_accelerator, clean_of): one
-- row per series without the model, as geomeans, of the runs `before` and `after`: how the geometric mean of speedups
-- moved over the `n` results that have a speedup in both, measured alike (macro measured_as), each side in one epoch.
-- `geomean_change` is after / before, above 1 better, with the 95 % t interval of the mean log over results, from three on; it is the
-- product of `by_backend` (own time before / after) and `by_baseline` (the baseline's time after / before), each with
-- its interval of the same kind: a speedup also moves when only its baseline does. `only_before_n`, `only_after_n`:
-- results with a speedup in one run alone; `otherwise_n`: with one in both that were measured with other threads, batch
-- sizes, or iterations per block, or between which a user has set a mark. `measured` (macro measured_as without the batch
-- size) and `policy` are those of the `n`.
CREATE OR REPLACE MACRO geomean_changes(
    baseline_backend, baseline_run, before, after, models := NULL, baseline_accelerator := NULL, clean_of := []
) AS TABLE
WITH sides AS (
    SELECT s.*, epoch_at(e.begins, s.run_started) AS epoch
    FROM speedups(
        baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := [before, after],
        models := models
    ) AS s
    LEFT JOIN epochs AS e ON e.series_id = s.series_id
    WHERE s.speedup > 0
),
per_series AS (
    SELECT
        series_id, suite_series_id,
        {
            suite: any_value(suite),
            test: any_value(test),
            accelerator: any_value(accelerator),
            accelerator_model: any_value(accelerator_model),
            machine_id: any_value(machine_id),
            environment: any_value(environment),
            dtype: any_value(dtype),
            requested_batch_size: any_value(requested_batch_size),
            optimizer: any_value(optimizer),
            loss: any_value(loss),
            matmul_precision: any_value(matmul_precision),
            workload: any_value(workload),
            backend: any_value(backend),
            variant: any_value(variant)
        } AS series,
        min(measured_as(NULL, threads, iterations_per_run, start, instrumented)) AS measured,
        max(policy) AS policy,
        any_value(speedup) FILTER (run_id = before) AS speedup_before,
        any_value(speedup) FILTER (run_id = after) AS speedup_after,
        min(measured_as(NULL, threads, iterations_per_run, start, instrumented))
            <> max(measured_as(NULL, threads, iterations_per_run, start, instrumented))
            OR coalesce(min(batch_size) <> max(batch_size), false) OR count(batch_size) NOT IN (0, count(*))
            OR coalesce(min(policy) <> max(policy), false)
            OR min(variables_of_policy(policy)) <> max(variables_of_policy(policy))
            OR min(epoch) <> max(epoch) OR min(baseline_epoch) <> max(baseline_epoch) AS otherwise,
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

-- name: geomean_steps
-- Grain of geomean_steps(baseline_backend, baseline_run, runs, models, baseline_accelerator, clean_of): one row per run of
-- `runs` and series without the model, as geomeans, whose mean is not of the same models, measured alike, as the mean of
-- the newest of these runs before it that has one: such a mean moves though no model did. `added` and `gone` are models
-- behind one of the two means only, `otherwise` those behind both that were measured differently, or between which a user
-- has set a mark, and `settings` says in what.
CREATE OR REPLACE MACRO geomean_steps(
    baseline_backend, baseline_run, runs, models := NULL, baseline_accelerator := NULL, clean_of := []
) AS TABLE
WITH behind AS (
    SELECT
        run_id, suite_series_id, model,
        any_value(run_started) AS run_started,
        {
            suite: any_value(suite),
            test: any_value(test),
            accelerator: any_value(accelerator),
            accelerator_model: any_value(accelerator_model),
            machine_id: any_value(machine_id),
            environment: any_value(environment),
            dtype: any_value(dtype),
            requested_batch_size: any_value(requested_batch_size),
            optimizer: any_value(optimizer),
            loss: any_value(loss),
            matmul_precision: any_value(matmul_precision),
            workload: any_value(workload),
            backend: any_value(backend),
            variant: any_value(variant)
        } AS series,
        max(threads) AS threads,
        max(iterations_per_run) AS iterations_per_run,
        [min(batch_size), max(batch_size)] AS batch_sizes,
        max(start) AS start,
        max(instrumented) AS instrumented,
        max(policy) AS policy,
        max((epoch_at(begins, run_started), baseline_epoch)) AS epoch
    FROM speedups(
        baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs, models := models
    )
    LEFT JOIN epochs USING (series_id)
    ANTI JOIN unclean(clean_of, runs) USING (run_id, suite, model, test)
    WHERE speedup > 0
    GROUP BY run_id, suite_series_id, model
),
placed AS (
    SELECT *, dense_rank() OVER (PARTITION BY suite_series_id ORDER BY run_started, run_id) AS place
    FROM behind
),
beside AS (
    SELECT
        suite_series_id, place, model,
        lag(place) OVER same IS DISTINCT FROM place - 1 AS added,
        lead(place) OVER same IS DISTINCT FROM place + 1 AS gone_after,
        list_filter([
            CASE WHEN threads IS DISTINCT FROM lag(threads) OVER same THEN 'threads' END,
            CASE WHEN iterations_per_run IS DISTINCT FROM lag(iterations_per_run) OVER same
                THEN 'iterations per block' END,
            CASE WHEN batch_sizes IS DISTINCT FROM lag(batch_sizes) OVER same THEN 'batch size' END,
            CASE WHEN start IS DISTINCT FROM lag(start) OVER same THEN 'start method' END,
            CASE WHEN instrumented IS DISTINCT FROM lag(instrumented) OVER same THEN 'instrumentation' END,
            CASE WHEN other_policy(policy, lag(policy) OVER same) THEN 'thread policy' END,
            CASE WHEN epoch IS DISTINCT FROM lag(epoch) OVER same THEN 'conditions (a mark)' END
        ], lambda setting: setting IS NOT NULL) AS settings
    FROM placed
    WINDOW same AS (PARTITION BY suite_series_id, model ORDER BY place)
),
steps AS (
    SELECT
        suite_series_id, place, model,
        CASE WHEN added THEN 'added' WHEN len(settings) > 0 THEN 'otherwise' END AS step,
        CASE WHEN NOT added THEN settings END AS settings
    FROM beside
    WHERE place > 1
    UNION ALL
    SELECT suite_series_id, place + 1, model, 'gone', NULL
    FROM beside
    WHERE gone_after
),
means AS (
    SELECT suite_series_id, place, any_value(run_id) AS run_id, any_value(series) AS series
    FROM placed
    GROUP BY suite_series_id, place
)
SELECT
    any_value(m.run_id) AS run_id,
    unnest(any_value(m.series)),
    coalesce(list(s.model ORDER BY s.model) FILTER (s.step = 'added'), []) AS added,
    coalesce(list(s.model ORDER BY s.model) FILTER (s.step = 'gone'), []) AS gone,
    coalesce(list(s.model ORDER BY s.model) FILTER (s.step = 'otherwise'), []) AS otherwise,
    list_sort(list_distinct(coalesce(flatten(list(s.settings)), []))) AS settings
FROM steps AS s
JOIN means AS m USING (suite_series_id, place)
WHERE s.step IS NOT NULL
GROUP BY suite_series_id, place;
