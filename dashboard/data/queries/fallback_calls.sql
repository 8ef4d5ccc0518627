-- Grain: as view fallback_calls, for the shown run, with the samples behind each latency; $op narrows it to one op, $klass to
-- one class of ops.
SELECT * EXCLUDE (result_id)
FROM fallback_calls
LEFT JOIN (SELECT record_id, steady_n FROM result_rows WHERE run_id = $run) AS samples USING (record_id)
WHERE ($op::VARCHAR IS NULL OR op = $op) AND ($klass::VARCHAR IS NULL OR klass = $klass) AND /*filters*/
ORDER BY suite, model, test, variant, environment, op
