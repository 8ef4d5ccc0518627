-- Grain: one row per scalar metric without a column of its own, of the record that holds what extra processes found.
SELECT m.name, m.value
FROM result_rows AS r
JOIN record_metrics AS m ON m.record_id = coalesce(r.detail_record_id, r.record_id)
WHERE r.run_id = $run AND r.result_id = result_of($run, $experiment, $environment)
ORDER BY m.name
