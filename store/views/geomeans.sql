-- Views of geometric means over models.

-- name: geomeans
-- Grain of suite_series_names(runs): one row per series of a suite in `runs` (NULL: all), with the columns of macro
-- suite_series. Means join it last, by the key: carried through macro geomean_steps, they took a third of its time.
CREATE OR REPLACE MACRO suite_series_names(runs) AS TABLE
SELECT
    suite_series_id,
    any_value(suite) AS suite,
    any_value(test) AS test,
    any_value(accelerator) AS accelerator,
    any_value(accelerator_model) AS accelerator_model,
    any_value(machine_id) AS machine_id,
    any_value(environment) AS environment,
    any_value(dtype) AS dtype,
    any_value(requested_batch_size) AS requested_batch_size,
    any_value(optimizer) AS optimizer,
    any_value(loss) AS loss,
    any_value(matmul_precision) AS matmul_precision,
    any_value(workload) AS workload,
    any_value(backend) AS backend,
    any_value(variant) AS variant
FROM result_rows
WHERE runs IS NULL OR run_id IN (SELECT unnest(runs::VARCHAR[]))
GROUP BY suite_series_id;

-- Grain of model_speedups(baseline_backend, baseline_run, baseline_accelerator, runs, models, clean_of): one row per run,
-- series without the model and model, of the rows of speedups that macro geomeans counts: what became of the model's
-- results and of their baselines, the mean log of their speedups, and how those with a speedup were measured.
CREATE OR REPLACE MACRO model_speedups(
    baseline_backend, baseline_run, baseline_accelerator := NULL, runs := NULL, models := NULL, clean_of := []
) AS TABLE
SELECT
    run_id, suite_series_id, model,
    any_value(suite) AS suite,
    any_value(test) AS test,
    any_value(accelerator) AS accelerator,
    any_value(settings_id) AS settings_id,
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
    coalesce(bool_or(is_checked(verification_code)), false) AS verify_asked,
    max(threads) FILTER (speedup > 0) AS threads,
    max(iterations_per_run) FILTER (speedup > 0) AS iterations_per_run,
    [min(batch_size) FILTER (speedup > 0), max(batch_size) FILTER (speedup > 0)] AS batch_sizes,
    max(start) FILTER (speedup > 0) AS start,
    max(instrumented) FILTER (speedup > 0) AS instrumented,
    max(policy) FILTER (speedup > 0) AS policy,
    max((epoch_at(begins, run_started), baseline_epoch)) FILTER (speedup > 0) AS epoch
FROM speedups(
    baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs, models := models
)
LEFT JOIN epochs USING (series_id)
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
        suite_series_id,
        any_value(suite) AS suite,
        any_value(test) AS test,
        any_value(accelerator) AS accelerator,
        any_value(settings_id) AS settings_id,
        any_value(run_label) AS run_label,
        any_value(run_started) AS run_started,
        any_value(plan_known) AS plan_known,
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
    g.run_id, g.run_label, g.run_started, g.plan_known, names.* EXCLUDE (suite_series_id),
    g.* EXCLUDE (
        run_id, suite_series_id, suite, test, accelerator, run_label, run_started, plan_known, settings_id, mean_log, sd_log,
        valid_models
    ),
    baseline_backend AS baseline_backend,
    exp(g.mean_log) AS geomean,
    CASE WHEN g.n >= 3 AND NOT g.cross_device THEN exp(g.mean_log - t.t * g.sd_log / sqrt(g.n)) END AS geomean_low,
    CASE WHEN g.n >= 3 AND NOT g.cross_device THEN exp(g.mean_log + t.t * g.sd_log / sqrt(g.n)) END AS geomean_high,
    list_filter(coalesce(b.baseline_models, []), lambda m: NOT list_contains(g.valid_models, m)) AS only_baseline
FROM grouped AS g
JOIN suite_series_names(runs) AS names USING (suite_series_id)
LEFT JOIN baseline_models(
    baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs, models := models
) AS b
    ON b.run_key = coalesce(nullif(baseline_run, 'same'), g.run_id)
    AND b.suite = g.suite AND b.test = g.test AND b.settings_id = g.settings_id
    AND (baseline_accelerator IS NOT NULL OR b.accelerator = g.accelerator)
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
        suite_series_id,
        any_value(suite) AS suite,
        any_value(test) AS test,
        any_value(accelerator) AS accelerator,
        any_value(settings_id) AS settings_id,
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
    g.run_id, g.run_label, g.run_started, names.* EXCLUDE (suite_series_id),
    g.* EXCLUDE (run_id, suite_series_id, suite, test, accelerator, run_label, run_started, settings_id, attempted),
    baseline_backend AS baseline_backend,
    list_filter(coalesce(b.baseline_models, []), lambda m: NOT list_contains(g.attempted, m)) AS only_right
FROM grouped AS g
JOIN suite_series_names(runs) AS names USING (suite_series_id)
LEFT JOIN baseline_models(
    baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs
) AS b
    ON b.run_key = coalesce(nullif(baseline_run, 'same'), g.run_id)
    AND b.suite = g.suite AND b.test = g.test AND b.settings_id = g.settings_id
    AND (baseline_accelerator IS NOT NULL OR b.accelerator = g.accelerator);

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
        suite_series_id,
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
    names.* EXCLUDE (suite_series_id),
    g.* EXCLUDE (suite_series_id, mean_log, sd_log, backend_log, backend_sd, baseline_log, baseline_sd),
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
JOIN suite_series_names([before, after]) AS names USING (suite_series_id)
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
    SELECT *
    FROM model_speedups(
        baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs, models := models,
        clean_of := clean_of
    )
    WHERE log_speedup IS NOT NULL
),
means AS (
    SELECT
        suite_series_id, run_id,
        row_number() OVER (PARTITION BY suite_series_id ORDER BY any_value(run_started), run_id) AS place
    FROM behind
    GROUP BY suite_series_id, run_id
),
placed AS (
    SELECT b.*, m.place
    FROM behind AS b
    JOIN means AS m USING (suite_series_id, run_id)
),
steps AS (
    SELECT
        coalesce(now.suite_series_id, before.suite_series_id) AS suite_series_id,
        coalesce(now.place, before.place + 1) AS place,
        coalesce(now.model, before.model) AS model,
        CASE WHEN before.model IS NULL THEN 'added' WHEN now.model IS NULL THEN 'gone' ELSE 'otherwise' END AS step,
        CASE WHEN step = 'otherwise' THEN list_filter([
            CASE WHEN now.threads IS DISTINCT FROM before.threads THEN 'threads' END,
            CASE WHEN now.iterations_per_run IS DISTINCT FROM before.iterations_per_run THEN 'iterations per block' END,
            CASE WHEN now.batch_sizes IS DISTINCT FROM before.batch_sizes THEN 'batch size' END,
            CASE WHEN now.start IS DISTINCT FROM before.start THEN 'start method' END,
            CASE WHEN now.instrumented IS DISTINCT FROM before.instrumented THEN 'instrumentation' END,
            CASE WHEN other_policy(now.policy, before.policy) THEN 'thread policy' END,
            CASE WHEN now.epoch IS DISTINCT FROM before.epoch THEN 'conditions (a mark)' END
        ], lambda setting: setting IS NOT NULL) END AS settings
    FROM placed AS now
    FULL JOIN placed AS before
        ON now.suite_series_id = before.suite_series_id AND now.model = before.model AND now.place = before.place + 1
    -- Most are behind both means and measured alike.
    WHERE before.model IS NULL OR now.model IS NULL
        OR now.threads IS DISTINCT FROM before.threads OR now.iterations_per_run IS DISTINCT FROM before.iterations_per_run
        OR now.batch_sizes IS DISTINCT FROM before.batch_sizes OR now.start IS DISTINCT FROM before.start
        OR now.instrumented IS DISTINCT FROM before.instrumented OR now.policy IS DISTINCT FROM before.policy
        OR now.epoch IS DISTINCT FROM before.epoch
),
changed AS (
    SELECT
        suite_series_id, place,
        coalesce(list(model ORDER BY model) FILTER (step = 'added'), []) AS added,
        coalesce(list(model ORDER BY model) FILTER (step = 'gone'), []) AS gone,
        coalesce(list(model ORDER BY model) FILTER (step = 'otherwise'), []) AS otherwise,
        list_sort(list_distinct(coalesce(flatten(list(settings)), []))) AS settings
    FROM steps
    WHERE place > 1 AND (step <> 'otherwise' OR len(settings) > 0)
    GROUP BY suite_series_id, place
)
SELECT m.run_id, names.* EXCLUDE (suite_series_id), c.added, c.gone, c.otherwise, c.settings
FROM changed AS c
JOIN means AS m USING (suite_series_id, place)
JOIN suite_series_names(runs) AS names USING (suite_series_id);
