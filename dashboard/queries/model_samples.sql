-- Grain: one row per timed block of every process of each result of the shown run that has one of $records (the attempt
-- that is shown); `result` is that record.
SELECT
    r.record_id AS result, p.replica, s.block, s.kind, s.round, s.per_iter_s, s.trace_s, s.compiles, s.executions,
    s.compile_s, s.execute_s, p.iterations_per_run
FROM result_rows AS r
JOIN records AS p
    ON p.run_id = r.run_id AND p.result_id = r.result_id AND p.attempt = r.attempt
    AND p.purpose = 'benchmark' AND p.twin_of IS NULL
JOIN samples AS s ON s.record_id = p.record_id
WHERE r.run_id = $run AND list_contains($records::VARCHAR[], r.record_id)
ORDER BY r.record_id, p.replica, s.block
