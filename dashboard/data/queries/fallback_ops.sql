-- Grain: as view fallback_ops, for the shown run.
SELECT * EXCLUDE (result_id)
FROM fallback_ops
WHERE /*filters*/
ORDER BY suite, model, test, variant, environment, op
