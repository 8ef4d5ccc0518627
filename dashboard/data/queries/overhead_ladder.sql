-- Grain: one row per rung of the overhead ladder of one model in a run: eager, lazy tensors, captured but traced every
-- time, traced once; last the same with the other choice about transfers, from the newest run with the same versions on
-- the same machine that measured it alike. Variants with settings of their own and wrong answers are on no rung.
-- `change_s` is against the rung before it. What a setting parts (accelerator, environment, dtype, …) has a ladder of its
-- own, `ladder`.
WITH words AS (
    SELECT
        run_id, run_label, run_started, record_id, accelerator, environment, machine_id, dtype, requested_batch_size,
        measured_as(batch_size, threads, iterations_per_run, start, instrumented) AS measured, policy, batch_size,
        optimizer, loss, matmul_precision, workload, variant, torch, torch_xla, iterations_per_run,
        latency_s, latency_low_s, latency_high_s, steady_n, trace_s,
        list_contains(string_split(coalesce(workload, ''), ' '), 'include-transfers') AS transfers,
        list_sort(list_filter(
            string_split(coalesce(workload, ''), ' '), lambda word: word NOT IN ('', 'include-transfers')
        )) AS work,
        settings_of(environment, dtype, requested_batch_size, optimizer, loss, matmul_precision, NULL) AS other_settings
    FROM result_rows
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
        AND o.measured = m.measured AND coalesce(o.policy = m.policy, true)
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
