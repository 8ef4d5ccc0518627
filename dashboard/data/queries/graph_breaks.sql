-- Grain: as view graph_breaks, for the shown run.
SELECT * EXCLUDE (result_id)
FROM graph_breaks
WHERE /*filters*/
ORDER BY suite, model, test, variant, environment, reason
