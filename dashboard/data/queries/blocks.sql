-- Grain: one row per timed block before the steady state, and the first steady one, of each result of one model in the shown
-- run; of several processes the first counts. `begin_s` is when a block began. Times and executions are those of the whole
-- block, whose inner loop may repeat its iterations. Seconds that XLA reports of a block (`compile_s`, `execute_s`) and of
-- tracing lie somewhere within it and overlap: they are no parts of `total_s`.
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
        o.*, s.block, s.kind, s.compiles,
        s.total_s * s.inner_loops AS total_s,
        s.compile_s * s.inner_loops AS compile_s,
        s.execute_s * s.inner_loops AS execute_s,
        s.executions * s.inner_loops AS executions,
        s.trace_s * s.inner_loops * coalesce(o.iterations_per_run, 1) AS trace_s,
        coalesce(sum(s.total_s * s.inner_loops) OVER (
            PARTITION BY s.record_id ORDER BY s.block ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) AS begin_s,
        count(*) FILTER (s.kind = 'steady') OVER (PARTITION BY s.record_id ORDER BY s.block) AS steady_n
    FROM own AS o
    JOIN samples AS s ON s.record_id = o.record_id
)
SELECT *
FROM timed
WHERE (kind <> 'steady' OR steady_n = 1) AND block < $most_blocks
ORDER BY backend, variant, environment, block
