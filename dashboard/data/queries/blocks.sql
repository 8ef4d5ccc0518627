-- Grain: one row per timed block before the steady state, and the first steady one, of each result of one model in the shown
-- run; of several processes the first counts. `begin_s` is when a block began. Seconds that XLA reports of a block
-- (`compile_s`, `execute_s`) and of tracing lie somewhere within it and overlap: they are no parts of `total_s`.
WITH own AS (
    SELECT
        record_id, suite, model, test, accelerator, environment, dtype, requested_batch_size, machine_id, optimizer, loss,
        matmul_precision, workload, backend, variant, cache, iterations_per_run, replicas_n, compiler_time_s,
        compiler_source
    FROM result_rows
    WHERE suite = $of_suite AND model = $of_model AND test = $of_test AND ran AND /*filters*/
),
timed AS (
    SELECT
        o.*, s.block, s.kind, s.total_s, s.compile_s, s.execute_s, s.compiles, s.executions,
        s.trace_s * coalesce(o.iterations_per_run, 1) AS trace_s,
        sum(s.total_s) OVER (PARTITION BY s.record_id ORDER BY s.block) - s.total_s AS begin_s,
        count(*) FILTER (s.kind = 'steady') OVER (PARTITION BY s.record_id ORDER BY s.block) AS steady_n
    FROM own AS o
    JOIN samples AS s ON s.record_id = o.record_id
)
SELECT *
FROM timed
WHERE (kind <> 'steady' OR steady_n = 1) AND block < $most_blocks
ORDER BY backend, variant, environment, block
