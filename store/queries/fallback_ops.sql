-- Grain: as view fallback_ops.
SELECT *
FROM fallback_ops
WHERE /*filters*/
ORDER BY run_started DESC, run_id, suite, model, test, variant, environment, op
