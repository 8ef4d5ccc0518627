-- Scalar macro, no grain: the totals of the rows of fallback_calls of one op, as a struct, for queries that group them.
-- Values of different models are never summed: calls and times are the largest of a result. `steady_models_n` models
-- call it in steady iterations; for those in `blocked_models` it is the only op that is called there, so lowering it
-- alone would leave them without fallback. Lists count what is distinct: DuckDB plans each DISTINCT of an aggregate as
-- a join, and half of a page's query was the time to plan them.
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
    models: model_names(list_distinct(list({suite: of.suite, model: of.model})), list_distinct(list({suite: of.suite, model: of.model}))),
    blocked_models: coalesce(model_names(
        list_distinct(list({suite: of.suite, model: of.model}) FILTER (of.alone)),
        list_distinct(list({suite: of.suite, model: of.model}))
    ), [])
};
