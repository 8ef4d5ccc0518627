-- Grain: as view graph_breaks, for the shown run.
SELECT *
FROM graph_breaks
WHERE /*filters*/
ORDER BY suite, model, test, variant, environment, reason
