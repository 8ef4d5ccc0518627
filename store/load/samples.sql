-- Grain: one row per timed block of a record of `parsed`.
SELECT
    line_id,
    record_id,
    (generate_subscripts(totals, 1) - 1)::INTEGER AS block,
    unnest(kinds) AS kind,
    unnest(rounds) AS round,
    unnest(totals) AS total_s,
    unnest(per_iter) AS per_iter_s,
    unnest(traces) AS trace_s,
    unnest(compile_times) AS compile_s,
    unnest(execute_times) AS execute_s,
    unnest(compiles) AS compiles,
    unnest(executions) AS executions
FROM parsed
WHERE blocks_n > 0;
