-- Scalar macro, no grain: what rows of fallback_calls of one op say together, as a struct, for queries that group them.
-- Iterations of different models are no common unit, so nothing is summed over models: calls and times are those of the
-- result with most. `steady_models_n` models call it in steady iterations; for those in `blocked_models` it is the only
-- op that is called there, so lowering it alone would leave them without fallback.
CREATE OR REPLACE MACRO fallback_totals(of) AS {
    klass: any_value(of.klass),
    results_n: count(*),
    models_n: count(DISTINCT (of.suite, of.model)),
    steady_models_n: count(DISTINCT (of.suite, of.model)) FILTER (of.steady),
    blocked_n: count(DISTINCT (of.suite, of.model)) FILTER (of.alone),
    calls_per_iteration: max(of.calls_per_iteration),
    calls_compile: max(of.calls_compile),
    time_s: max(of.time_s),
    time_share: max(of.time_share),
    time_n: count(of.time_share),
    models: list(DISTINCT of.model ORDER BY of.model),
    blocked_models: coalesce(list(DISTINCT of.model ORDER BY of.model) FILTER (of.alone), [])
};
