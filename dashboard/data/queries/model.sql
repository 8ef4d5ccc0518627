-- Queries of page Model, and of the overhead ladder that other pages draw, too.

-- name: model_list
-- Grain: one row per suite × model × test of the shown run that passes the filters.
SELECT
    suite, model, test,
    count(*) AS results_n,
    count(*) FILTER (ran) AS ran_n,
    count(*) FILTER (is_failed(ran, status)) AS failed_n,
    string_agg(DISTINCT backend, ', ' ORDER BY backend) AS backends
FROM result_rows
WHERE /*filters*/
GROUP BY suite, model, test
ORDER BY suite, model, test

-- name: sides
-- Grain: as macro speedups, for the shown run. The run is compared by `=`, which the macro's joins take over; a list of
-- runs would make them walk the whole store.
SELECT * EXCLUDE (result_id, settings_id, suite_series_id)
FROM speedups(
    $baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END
)
WHERE /*filters*/
ORDER BY test, accelerator, suite, model, variant, environment

-- name: model_history
-- Grain: as view history, of one series, from the oldest run on.
SELECT *
FROM history
WHERE series_id = $series
ORDER BY run_started

-- name: model_records
-- Grain: one row per record of $records, results of the shown run: the record as its line was read.
SELECT record_id AS result, whole_text(records) AS record
FROM records
-- A record is of its result's run; said so, the text of all other runs is left unread.
WHERE run_id = $run AND list_contains($records::VARCHAR[], record_id)
ORDER BY record_id

-- name: model_findings
-- Grain: as view findings, for each result of the shown run that has one of $records; `result` is that record.
SELECT r.record_id AS result, f.code, f.text, f.next_step, f.processes_n
FROM result_rows AS r
JOIN findings AS f ON f.run_id = r.run_id AND f.result_id = r.result_id
WHERE r.run_id = $run AND f.run_id = $run AND list_contains($records::VARCHAR[], r.record_id)
ORDER BY r.record_id, f.code

-- name: model_metrics
-- Grain: one row per scalar metric without a column of its own, of the record that holds what extra processes found.
SELECT m.name, m.value
FROM result_rows AS r
JOIN record_metrics AS m ON m.record_id = coalesce(r.detail_record_id, r.record_id)
WHERE r.run_id = $run AND r.result_id = result_of($run, $experiment, $environment)
ORDER BY m.name

-- name: model_graphs
-- Grain: one row per compiled program of one experiment in one run, in the order of its record.
SELECT
    g.position, g.kind, g.ops, g.fusions, g.flops, g.bytes_accessed, g.fingerprint,
    (
        SELECT string_agg(name || ' ' || number, ', ' ORDER BY number DESC, name)
        FROM (
            SELECT unnest(json_keys(g.op_histogram)) AS name,
                TRY_CAST(unnest(json_extract(g.op_histogram, '$.*')) AS BIGINT) AS number
        )
    ) AS operations
FROM result_rows AS r
JOIN record_graphs AS g ON g.record_id = coalesce(r.detail_record_id, r.record_id)
WHERE r.run_id = $run AND r.result_id = result_of($run, $experiment, $environment)
ORDER BY g.kind, g.position

-- name: model_fallbacks
-- Grain: as view fallback_ops, for one experiment of a run, with the newest payoff that was measured without the op.
SELECT
    o.op, o.klass, o.calls_per_iteration, o.calls_compile, o.time_s, o.call_site,
    p.payoff, p.payoff_low, p.payoff_high, p.payoff_reason, p.gain, p.payoff_run_label
FROM fallback_ops AS o
LEFT JOIN fallback_payoffs AS p ON p.run_id = o.run_id AND p.result_id = o.result_id AND p.op = o.op
WHERE o.run_id = $run AND o.result_id = result_of($run, $experiment, $environment)
ORDER BY o.time_s DESC NULLS LAST, o.calls_per_iteration DESC NULLS LAST, o.op

-- name: model_breaks
-- Grain: as view graph_breaks, for one experiment of a run.
SELECT reason, count
FROM graph_breaks
WHERE run_id = $run AND result_id = result_of($run, $experiment, $environment)
ORDER BY count DESC, reason

-- name: model_artifacts
-- Grain: one row per file beside the records of one experiment of a run, every process and attempt of it.
SELECT
    p.record_id, p.purpose, p.replica, p.attempt, a.kind, a.path, a.repeat, a.bytes,
    regexp_replace(a.path, '^artifacts/[^/]*/', '') AS file,
    list_extract(
        list_filter(
            from_json(p.record -> '$.artifacts', '[{"path":"VARCHAR","note":"VARCHAR"}]'),
            lambda listed: listed.path = a.path
        ), 1
    ).note AS note
FROM records AS p
JOIN record_artifacts AS a ON a.record_id = p.record_id
WHERE p.run_id = $run AND p.result_id = result_of($run, $experiment, $environment)
ORDER BY a.kind, p.attempt DESC, p.replica, a.repeat NULLS FIRST, a.path

-- name: model_processes
-- Grain: one row per process of each result of the shown run that has one of $records (the attempt that is shown); `result`
-- is that record.
SELECT
    r.record_id AS result, p.record_id, p.replica, p.status, p.reason, p.steady_n, p.latency_s, p.latency_low_s, p.latency_high_s,
    p.latency_spread, p.first_iteration_s, p.start, p.finished_at
FROM result_rows AS r
JOIN processes() AS p USING (run_id, result_id, attempt)
WHERE r.run_id = $run AND list_contains($records::VARCHAR[], r.record_id)
ORDER BY r.record_id, p.replica

-- name: model_samples
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

-- name: blocks
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

-- name: overhead_ladder
-- Grain: one row per rung of the overhead ladder of one model in a run: eager, lazy tensors, captured but traced every
-- time, traced once; last the same with the other choice about transfers, from the newest run with the same versions on
-- the same machine that measured it alike, without a mark between the two. Variants with settings of their own and wrong
-- answers are on no rung. `change_s` is against the rung before it. What a setting parts (accelerator, environment, dtype, …)
-- has a ladder of its own, `ladder`.
WITH words AS (
    SELECT
        run_id, run_label, run_started, record_id, accelerator, environment, machine_id, dtype, requested_batch_size,
        measured_as(batch_size, threads, iterations_per_run, start, instrumented) AS measured, policy, batch_size,
        optimizer, loss, matmul_precision, workload, variant, torch, torch_xla, iterations_per_run,
        latency_s, latency_low_s, latency_high_s, steady_n, trace_s, begins,
        list_contains(string_split(coalesce(workload, ''), ' '), 'include-transfers') AS transfers,
        list_sort(list_filter(
            string_split(coalesce(workload, ''), ' '), lambda word: word NOT IN ('', 'include-transfers')
        )) AS work,
        settings_of(environment, dtype, requested_batch_size, optimizer, loss, matmul_precision, NULL) AS other_settings
    FROM result_rows
    LEFT JOIN epochs USING (series_id)
    WHERE suite = $of_suite AND model = $of_model AND test = $of_test
        AND is_valid(ran, verification_code) AND latency_s > 0
        AND coalesce(cache, 'cold') = 'cold'
),
known(rung, choice, name) AS (
    VALUES (1, 1, 'eager'), (2, 1, 'openxla+lazytensor'), (3, 1, 'torchxla_trivial'),
        (4, 1, 'torchxla_trace_once'), (4, 2, 'openxla_eval'), (4, 3, 'openxla+dynamo')
),
measured AS (
    SELECT
        k.rung, k.choice, w.*,
        dense_rank() OVER (
            ORDER BY w.accelerator, w.environment, w.machine_id, w.dtype, w.requested_batch_size, w.optimizer, w.loss,
                w.matmul_precision, w.work, w.transfers
        ) AS ladder
    FROM words AS w
    JOIN known AS k ON k.name = w.variant
    WHERE w.run_id = $run
),
mine AS (
    SELECT * EXCLUDE (choice)
    FROM measured
    QUALIFY row_number() OVER (PARTITION BY ladder, rung ORDER BY choice) = 1
),
other AS (
    SELECT 5 AS rung, o.*, m.ladder
    FROM mine AS m
    JOIN words AS o
        ON m.rung = 4 AND o.variant = m.variant AND o.transfers <> m.transfers AND o.work = m.work
        AND o.accelerator = m.accelerator AND o.other_settings = m.other_settings
        AND o.machine_id IS NOT DISTINCT FROM m.machine_id
        AND o.measured = m.measured AND NOT other_policy(o.policy, m.policy)
        AND NOT is_mark_between(o.begins, o.run_started, m.begins, m.run_started)
        AND o.torch IS NOT DISTINCT FROM m.torch AND o.torch_xla IS NOT DISTINCT FROM m.torch_xla
    QUALIFY row_number() OVER (PARTITION BY m.ladder ORDER BY o.run_started DESC) = 1
),
rungs AS (
    SELECT * FROM mine
    UNION ALL BY NAME
    SELECT * FROM other
),
executions AS (
    -- As view samples has them, which would read the blocks of all runs.
    SELECT record_id, median(execute_s / iterations_per_run) AS execute_s
    FROM (
        SELECT
            p.record_id, p.iterations_per_run, unnest(p.block_kind) AS kind, unnest(p.block_execute_s) AS execute_s
        FROM rungs AS r
        JOIN records AS p ON p.run_id = r.run_id AND p.record_id = r.record_id
    )
    WHERE kind = 'steady'
    GROUP BY record_id
)
SELECT
    r.ladder, r.rung, r.variant, r.transfers, r.run_id, r.run_label, r.accelerator, r.environment, r.dtype,
    r.requested_batch_size, r.batch_size, r.latency_s, r.latency_low_s, r.latency_high_s, r.steady_n, r.trace_s,
    e.execute_s,
    lag(r.rung) OVER rising AS rung_before,
    r.latency_s - lag(r.latency_s) OVER rising AS change_s
FROM rungs AS r
LEFT JOIN executions AS e USING (record_id)
WINDOW rising AS (PARTITION BY r.ladder ORDER BY r.rung)
ORDER BY r.ladder, r.rung
