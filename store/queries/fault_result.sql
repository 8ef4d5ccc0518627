-- Grain: at most one row: the result that a record belongs to, of whatever replica it is.
SELECT s.record_id
FROM records AS r
JOIN result_rows AS s
    ON s.run_id = r.run_id AND s.experiment_id = r.experiment_id
    AND s.environment IS NOT DISTINCT FROM r.environment
WHERE r.record_id = $record
