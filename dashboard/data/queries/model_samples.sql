-- Grain: one row per timed block of every process of each result of the shown run that has one of $records (the attempt
-- that is shown); `result` is that record.
WITH processes AS (
    SELECT p.*, r.record_id AS result
    FROM result_rows AS r
    JOIN processes() AS p USING (run_id, result_id, attempt)
    WHERE r.run_id = $run AND list_contains($records::VARCHAR[], r.record_id)
)
-- As view samples has them, which would read the blocks of all runs.
SELECT
    result, replica,
    (generate_subscripts(block_total_s, 1) - 1)::INTEGER AS block,
    unnest(block_kind) AS kind,
    unnest(block_round) AS round,
    coalesce(unnest(block_per_iter_s), unnest(block_total_s) / nullif(iterations_per_run, 0)) AS per_iter_s,
    unnest(block_trace_s) AS trace_s,
    unnest(block_compiles) AS compiles,
    unnest(block_executions) AS executions,
    unnest(block_compile_s) AS compile_s,
    unnest(block_execute_s) AS execute_s,
    iterations_per_run
FROM processes
ORDER BY result, replica, block
