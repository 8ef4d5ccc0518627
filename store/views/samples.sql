-- Grain: one row per timed block of a record: record_id × block, in order from 0. A record whose samples `xlabench
-- prune` has removed (`records.pruned_at`) has none. Where a block repeats its iterations (`inner_loops`), its times and
-- executions are those of one repetition.
CREATE OR REPLACE VIEW samples AS
SELECT
    record_id, block, kind, round, total_s,
    coalesce(per_iter_s, total_s / nullif(iterations_per_run, 0)) AS per_iter_s,
    trace_s, compiles, executions, compile_s, execute_s, coalesce(loops, 1) AS inner_loops
FROM (
    SELECT
        record_id,
        iterations_per_run,
        (generate_subscripts(block_total_s, 1) - 1)::INTEGER AS block,
        unnest(block_kind) AS kind,
        unnest(block_round) AS round,
        unnest(block_total_s) AS total_s,
        unnest(block_per_iter_s) AS per_iter_s,
        unnest(block_trace_s) AS trace_s,
        unnest(block_compile_s) AS compile_s,
        unnest(block_execute_s) AS execute_s,
        unnest(block_compiles) AS compiles,
        unnest(block_executions) AS executions,
        unnest(block_loops) AS loops
    FROM records
);
