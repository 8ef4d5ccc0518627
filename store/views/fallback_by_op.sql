-- Grain: one row per run × test × accelerator × backend × variant × environment × op that XLA did not lower.
-- Iterations of different models are no common unit, so nothing is summed over models: calls and times are those of the
-- result with most. `steady_models_n` models call it in steady iterations; for those in `blocked_models` it is the only
-- op that is called there, so lowering it alone would leave them without fallback.
CREATE OR REPLACE VIEW fallback_by_op AS
WITH calls AS (
    SELECT
        r.run_id, r.run_label, r.run_started, r.test, r.accelerator, r.backend, r.variant, r.environment,
        r.experiment_id, r.suite, r.model, r.latency_s, o.op,
        any_value(o.klass) AS klass,
        sum(o.calls_per_iteration) AS calls_per_iteration,
        sum(o.calls_compile)::BIGINT AS calls_compile,
        max(o.time_s) AS time_s,
        coalesce(sum(o.calls_per_iteration) > 0, true) AS steady
    FROM result_rows AS r
    JOIN record_fallback_ops AS o ON o.record_id = r.detail_record_id
    GROUP BY ALL
),
counted AS (
    SELECT
        *,
        count(*) FILTER (steady) OVER (PARTITION BY run_id, experiment_id, environment) AS ops_n,
        CASE WHEN latency_s > 0 THEN time_s / latency_s END AS time_share
    FROM calls
)
SELECT
    run_id,
    any_value(run_label) AS run_label,
    any_value(run_started) AS run_started,
    test, accelerator, backend, variant, environment, op,
    any_value(klass) AS klass,
    count(*) AS results_n,
    count(DISTINCT (suite, model)) AS models_n,
    count(DISTINCT (suite, model)) FILTER (steady) AS steady_models_n,
    count(DISTINCT (suite, model)) FILTER (steady AND ops_n = 1) AS blocked_n,
    max(calls_per_iteration) AS calls_per_iteration,
    max(calls_compile) AS calls_compile,
    max(time_s) AS time_s,
    max(time_share) AS time_share,
    count(time_share) AS time_n,
    list(DISTINCT model ORDER BY model) AS models,
    coalesce(list(DISTINCT model ORDER BY model) FILTER (steady AND ops_n = 1), []) AS blocked_models
FROM counted
GROUP BY run_id, test, accelerator, backend, variant, environment, op;
