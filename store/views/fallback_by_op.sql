-- Grain: one row per run × test × accelerator × backend × variant × environment × op that XLA did not lower.
-- Iterations of different models are no common unit, so nothing is summed over models: calls and times are those of the
-- result with most. `steady_models_n` models call it in steady iterations; for those in `blocked_models` it is the only
-- op that is called there, so lowering it alone would leave them without fallback.
CREATE OR REPLACE VIEW fallback_by_op AS
SELECT
    run_id,
    any_value(run_label) AS run_label,
    any_value(run_started) AS run_started,
    test, accelerator, backend, variant, environment, op,
    any_value(klass) AS klass,
    count(*) AS results_n,
    count(DISTINCT (suite, model)) AS models_n,
    count(DISTINCT (suite, model)) FILTER (steady) AS steady_models_n,
    count(DISTINCT (suite, model)) FILTER (alone) AS blocked_n,
    max(calls_per_iteration) AS calls_per_iteration,
    max(calls_compile) AS calls_compile,
    max(time_s) AS time_s,
    max(time_share) AS time_share,
    count(time_share) AS time_n,
    list(DISTINCT model ORDER BY model) AS models,
    coalesce(list(DISTINCT model ORDER BY model) FILTER (alone), []) AS blocked_models
FROM fallback_calls
GROUP BY run_id, test, accelerator, backend, variant, environment, op;
