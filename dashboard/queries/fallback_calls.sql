-- Grain: as view fallback_calls, for the shown run; $op narrows it to one op, $klass to one class of ops.
SELECT *
FROM fallback_calls
WHERE ($op::VARCHAR IS NULL OR op = $op) AND ($klass::VARCHAR IS NULL OR klass = $klass) AND /*filters*/
ORDER BY suite, model, test, variant, environment, op
