-- Grain of geomean_steps(baseline_backend, baseline_run, runs, models, baseline_accelerator, clean_of): one row per run of
-- `runs` and series without the model, as geomeans, whose mean is not of the same models, measured alike, as the mean of
-- the newest of these runs before it that has one: such a mean moves though no model did. `added` and `gone` are models
-- behind one of the two means only, `otherwise` those behind both that were measured differently, and `settings` says
-- in what.
CREATE OR REPLACE MACRO geomean_steps(
    baseline_backend, baseline_run, runs, models := NULL, baseline_accelerator := NULL, clean_of := []
) AS TABLE
WITH behind AS (
    SELECT
        run_id, suite_series_id, model,
        any_value(run_started) AS run_started,
        any_value({
            suite: suite, test: test, accelerator: accelerator, accelerator_model: accelerator_model,
            machine_id: machine_id, environment: environment, dtype: dtype, requested_batch_size: requested_batch_size,
            optimizer: optimizer, loss: loss, matmul_precision: matmul_precision, workload: workload, backend: backend,
            variant: variant
        }) AS series,
        max(threads) AS threads,
        max(iterations_per_run) AS iterations_per_run,
        [min(batch_size), max(batch_size)] AS batch_sizes,
        max(start) AS start,
        max(instrumented) AS instrumented,
        max(policy) AS policy
    FROM speedups(
        baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs, models := models
    )
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
            -- Unknown of older records, which are compared all the same.
            CASE WHEN policy <> lag(policy) OVER same THEN 'thread policy' END
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
