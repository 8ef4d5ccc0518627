-- Grain: as view fallback_calls, for the shown run; $op narrows it to one op.
SELECT *
FROM fallback_calls
WHERE ($op::VARCHAR IS NULL OR op = $op) AND /*filters*/
ORDER BY suite, model, test, variant, environment, op
