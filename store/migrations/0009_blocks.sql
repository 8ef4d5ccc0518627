-- The row of a record has its timed blocks as parallel lists: view `samples` has a row for each. What can be computed
-- from the rest, and what nothing produces, goes.
ALTER TABLE records ADD COLUMN block_kind VARCHAR[];         -- 'first' | 'warmup' | 'steady' | 'unknown'
ALTER TABLE records ADD COLUMN block_round INTEGER[];
ALTER TABLE records ADD COLUMN block_total_s DOUBLE[];
ALTER TABLE records ADD COLUMN block_per_iter_s DOUBLE[];    -- where it is not block_total_s / iterations_per_run
ALTER TABLE records ADD COLUMN block_trace_s DOUBLE[];
ALTER TABLE records ADD COLUMN block_compile_s DOUBLE[];
ALTER TABLE records ADD COLUMN block_execute_s DOUBLE[];
ALTER TABLE records ADD COLUMN block_compiles BIGINT[];
ALTER TABLE records ADD COLUMN block_executions BIGINT[];

UPDATE records SET
    block_kind = s.kind, block_round = s.round, block_total_s = s.total_s,
    block_per_iter_s = CASE WHEN records.iterations_per_run <> 0 AND s.known_n = len(s.total_s) THEN NULL ELSE s.per_iter_s END,
    block_trace_s = s.trace_s, block_compile_s = s.compile_s, block_execute_s = s.execute_s,
    block_compiles = s.compiles, block_executions = s.executions
FROM (
    SELECT
        record_id,
        count(total_s) AS known_n,
        list(kind ORDER BY block) AS kind,
        list(total_s ORDER BY block) AS total_s,
        CASE WHEN count(round) > 0 THEN list(round ORDER BY block) END AS round,
        CASE WHEN count(per_iter_s) > 0 THEN list(per_iter_s ORDER BY block) END AS per_iter_s,
        CASE WHEN count(trace_s) > 0 THEN list(trace_s ORDER BY block) END AS trace_s,
        CASE WHEN count(compile_s) > 0 THEN list(compile_s ORDER BY block) END AS compile_s,
        CASE WHEN count(execute_s) > 0 THEN list(execute_s ORDER BY block) END AS execute_s,
        CASE WHEN count(compiles) > 0 THEN list(compiles ORDER BY block) END AS compiles,
        CASE WHEN count(executions) > 0 THEN list(executions ORDER BY block) END AS executions
    FROM samples
    GROUP BY record_id
) AS s
WHERE s.record_id = records.record_id;

DROP TABLE samples;
ALTER TABLE records DROP COLUMN steady_s;
ALTER TABLE records DROP COLUMN content_hash;
ALTER TABLE records DROP COLUMN eager_memory_bytes;
