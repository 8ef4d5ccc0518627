-- Grain: one row per reason for which dynamo split graphs of the shown run. Breaks of different models are not summed:
-- `count` is that of the result with most. `headline` is the first line of the reason.
SELECT
    split_part(reason, chr(10), 1) AS headline,
    count(DISTINCT (suite, model)) AS models_n,
    count(DISTINCT (experiment_id, environment)) AS results_n,
    max(count) AS count,
    list(DISTINCT model ORDER BY model) AS models,
    list(DISTINCT variant ORDER BY variant) AS variants,
    reason
FROM graph_breaks
WHERE /*filters*/
GROUP BY reason
ORDER BY models_n DESC, count DESC, reason
