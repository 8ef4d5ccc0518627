-- Grain: as view graph_breaks.
SELECT *
FROM graph_breaks
WHERE /*filters*/
ORDER BY run_started DESC, run_id, suite, model, test, variant, environment, reason
