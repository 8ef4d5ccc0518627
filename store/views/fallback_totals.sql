-- Scalar macro, no grain: what rows of fallback_calls of one op say together, as a struct, for queries that group them.
-- Iterations of different models are no common unit, so nothing is summed over models: calls and times are those of the
-- result with most. `steady_models_n` models call it in steady iterations; for those in `blocked_models` it is the only
-- op that is called there, so lowering it alone would leave them without fallback. Lists count what is distinct: DuckDB plans
-- each DISTINCT of an aggregate as a join, and half of a page's query was the time to plan them.
CREATE OR REPLACE MACRO fallback_totals(of) AS {
    klass: any_value(of.klass),
    results_n: count(*),
    models_n: len(list_distinct(list((of.suite, of.model)))),
    steady_models_n: coalesce(len(list_distinct(list((of.suite, of.model)) FILTER (of.steady))), 0),
    blocked_n: coalesce(len(list_distinct(list((of.suite, of.model)) FILTER (of.alone))), 0),
    calls_per_iteration: max(of.calls_per_iteration),
    calls_compile: max(of.calls_compile),
    time_s: max(of.time_s),
    time_share: max(of.time_share),
    time_n: count(of.time_share),
    models: list_sort(list_distinct(list(of.model))),
    blocked_models: coalesce(list_sort(list_distinct(list(of.model) FILTER (of.alone))), [])
};
