-- Grain: one row per line of the relation `lines`: validated records, `line` the text to read, and `raw` the text to keep
-- where they differ. What a record lacks (its identity, if it is not ours) is in columns of its own.
-- Of the lists, `kinds`, `totals` and `per_iter` have one entry per timed block, the others that or none.
CREATE OR REPLACE TEMP TABLE parsed AS
WITH typed AS (
    SELECT *, from_json(line, '{ReadRecord}') AS r
    FROM lines
),
measured AS (
    SELECT *, from_json(r.metrics, '{ReadMetrics}') AS m
    FROM typed
),
counted AS (
    SELECT *, coalesce(m.total_time, []) AS totals, coalesce(len(m.total_time), 0) AS blocks_n
    FROM measured
),
blocks AS (
    SELECT
        coalesce(r.record_id, identity.record_id) AS record_id,
        r.record_id IS NULL AS peer,
        coalesce(r.run.run_id, identity.run_id) AS run_id,
        CASE WHEN r.record_id IS NULL THEN 'peer' ELSE coalesce(nullif(r.source, ''), 'xlabench') END AS source,
        line_id, path, line_number, byte_offset, identity, notes,
        r, m, totals, blocks_n,
        CASE
            WHEN r.record_id IS NULL THEN
                list_transform(range(blocks_n), lambda i: CASE WHEN i = 0 THEN 'first' WHEN i < 3 THEN 'warmup' ELSE 'steady' END)
            WHEN coalesce(len(r.measurement.blocks.kind), 0) = blocks_n THEN coalesce(r.measurement.blocks.kind, [])
            ELSE list_transform(range(blocks_n), lambda i: 'unknown')
        END AS kinds,
        coalesce(r.iterations_per_run <> 0 AND list_count(totals) = blocks_n, false) AS per_iter_by_total,
        CASE WHEN per_iter_by_total
            THEN list_transform(totals, lambda t: t / r.iterations_per_run)
            ELSE list_transform(
                list_zip(totals, parallel(m.per_iter_time, blocks_n)),
                lambda z: coalesce(z[1] / nullif(r.iterations_per_run, 0), z[2])
            ) END AS per_iter,
        parallel(m.trace_per_iter_time, blocks_n) AS traces,
        parallel(m.xla_CompileTime_time_s, blocks_n) AS compile_times,
        -- The second is the name in the README of the peer's runner; its code writes the first.
        parallel(coalesce(m.xla_ExecuteTime_time_s, m.xla_ExecutionTime_time_s), blocks_n) AS execute_times,
        parallel(r.measurement.blocks.round, blocks_n) AS rounds,
        parallel(r.measurement.blocks.compiles, blocks_n) AS compiles,
        parallel(r.measurement.blocks.executions, blocks_n) AS executions,
        parallel(r.measurement.blocks.inner_loops, blocks_n) AS loops,
        -- Few records have such, and to read all metrics once more as a map costs as much as the rest of them.
        CASE WHEN len(list_filter(json_keys(r.metrics), lambda name: is_further(name))) > 0
            THEN list_filter(map_entries(from_json(r.metrics, '"MAP(VARCHAR, JSON)"')), lambda e: is_further(e.key))
            ELSE [] END AS further
    FROM counted
)
SELECT *, present(list_where(per_iter, is_steady)) AS steady_s
FROM (SELECT *, list_transform(kinds, lambda kind: coalesce(kind = 'steady', false)) AS is_steady FROM blocks);
