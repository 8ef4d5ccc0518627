-- Grain: one row per op that XLA did not lower in the filtered results of the shown run; as view fallback_by_op, but over
-- all backends, tests and environments that the filters leave. Iterations of different models are no common unit, so
-- nothing is summed over models: calls and times are those of the result with most. Host reads last: nothing to lower.
-- `ranked_by` says what places the op: its share of time where a profile knows it, else its calls.
SELECT
    op,
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
    coalesce(list(DISTINCT model ORDER BY model) FILTER (alone), []) AS blocked_models,
    CASE WHEN count(time_share) > 0 THEN 'time' ELSE 'calls' END AS ranked_by
FROM fallback_calls
WHERE /*filters*/
GROUP BY op
ORDER BY
    any_value(klass) = 'host_read',
    CASE WHEN $order = 'blocked' THEN blocked_n END DESC NULLS LAST,
    time_share DESC NULLS LAST,
    calls_per_iteration DESC NULLS LAST,
    steady_models_n DESC,
    op
