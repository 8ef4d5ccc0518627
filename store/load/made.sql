-- Rows from the lines of files.

-- name: made
-- Grain: one row per line of the relation `lines` (validated records, `line` the text to read, and `raw` the text to keep
-- where they differ), with the columns of table `records` but its text, a hash of its id, its place in the batch and in its
-- file, and a list for each table of details. What a record lacks (its identity, if it is not ours) is in columns of its own.
-- Of the lists, `kinds`, `totals` and `per_iter` have one entry per timed block, the others that or none.
-- store/metrics defines the numbers; store/stats has the same formulas for what is measured while a run goes on.
-- A macro evaluates its argument each time it names it, so an expensive argument is a column of its own.
WITH typed AS (
    SELECT *, from_json(line, '{ReadRecord}') AS r
    FROM lines
),
measured AS (
    SELECT *, from_json(r.metrics, '{ReadMetrics}') AS m
    FROM typed
),
counted AS (
    SELECT
        *,
        coalesce(m.total_time, []) AS totals,
        coalesce(len(m.total_time), 0) AS blocks_n,
        workload_words(r.experiment) AS workload_text,
        given_words(r.measurement.quiet.policy, r.environment.variables) AS given_text
    FROM measured
),
blocks AS (
    SELECT
        coalesce(r.record_id, identity.record_id) AS record_id,
        r.record_id IS NULL AS peer,
        coalesce(r.run.run_id, identity.run_id) AS run_id,
        CASE WHEN r.record_id IS NULL THEN 'peer' ELSE coalesce(nullif(r.source, ''), 'xlabench') END AS source,
        line_id, path, line_number, byte_offset, identity, notes,
        r, m, totals, blocks_n, workload_text, given_text,
        CASE
            WHEN r.record_id IS NULL THEN
                list_transform(range(blocks_n), lambda i: CASE WHEN i = 0 THEN 'first' WHEN i < 3 THEN 'warmup' ELSE 'steady' END)
            WHEN coalesce(len(r.measurement.blocks.kind), 0) = blocks_n THEN coalesce(r.measurement.blocks.kind, [])
            ELSE list_transform(range(blocks_n), lambda i: 'unknown')
        END AS kinds,
        coalesce(r.iterations_per_run <> 0 AND list_count(totals) = blocks_n, false) AS per_iter_by_total,
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
),
flagged AS (
    SELECT
        *,
        CASE WHEN per_iter_by_total
            THEN list_transform(totals, lambda t: t / r.iterations_per_run)
            ELSE list_transform(
                list_zip(totals, parallel(m.per_iter_time, blocks_n)),
                lambda z: coalesce(z[1] / nullif(r.iterations_per_run, 0), z[2])
            ) END AS per_iter,
        list_transform(kinds, lambda kind: coalesce(kind = 'steady', false)) AS is_steady,
        list_transform(kinds, lambda kind: coalesce(kind IN ('first', 'warmup'), false)) AS is_before
    FROM blocks
),
picked AS (
    SELECT
        *,
        list_where(per_iter, is_steady) AS raw_steady_s,
        list_where(totals, is_steady) AS raw_steady_totals,
        list_where(traces, is_steady[1:len(traces)]) AS raw_steady_traces,
        list_where(totals, is_before) AS before_totals,
        list_where(loops, is_before[1:len(loops)]) AS before_loops
    FROM flagged
),
steady AS (
    SELECT
        *,
        present(raw_steady_s) AS steady_s,
        list_sort(present(raw_steady_totals)) AS steady_totals,
        list_sort(present(raw_steady_traces)) AS steady_traces,
        CASE WHEN len(totals) = list_count(totals) THEN totals ELSE [] END AS whole_totals
    FROM picked
),
ordered AS (
    SELECT
        *,
        list_sort(steady_s) AS ordered_s,
        len(steady_s) AS steady_n,
        middle(steady_totals) AS steady_total_s,
        CASE WHEN kinds[1] = 'first' THEN totals[1] END AS first_s,
        list_contains(kinds, 'unknown') AS kinds_unknown,
        CASE
            WHEN NOT peer THEN coalesce(r.status, 'invalid')
            WHEN m.error = 'SKIP' THEN 'skipped'
            WHEN m.error IS NOT NULL THEN 'run_error'
            WHEN blocks_n > 3 THEN 'ok'
            ELSE 'invalid'
        END AS said
    FROM steady
),
judged AS (
    SELECT
        *,
        CASE
            WHEN said <> 'ok' THEN said
            WHEN kinds_unknown THEN 'invalid'
            WHEN steady_n = 0 OR ordered_s[1] <= 0 THEN 'invalid'
            ELSE 'ok'
        END AS status
    FROM ordered
),
numbers AS (
    SELECT
        j.*,
        k.rank,
        (quantile_of(ordered_s, 0.75) - quantile_of(ordered_s, 0.25)) / middle(ordered_s) AS spread,
        first_s - steady_total_s AS first_iteration,
        -- A block of a short operator repeats its iterations; its total is that of one repetition, and the wait that of all.
        CASE WHEN first_s IS NOT NULL AND list_count(before_totals) = len(before_totals)
            THEN CASE WHEN len(loops) = 0 THEN list_sum(list_transform(before_totals, lambda x: x - steady_total_s))
                ELSE list_sum(list_transform(
                    list_zip(before_totals, before_loops),
                    lambda block: (block[1] - steady_total_s) * greatest(coalesce(block[2], 1), 1)
                )) END
            END AS time_to_steady,
        -- The first five iterations, in whole blocks: what the TorchDynamo harness calls its warm-up.
        CASE WHEN status = 'ok' AND r.iterations_per_run IS DISTINCT FROM 0
            THEN list_sum(totals[1:least(5, ceil(5 / coalesce(r.iterations_per_run, 1)))::INTEGER]) END AS warm_up
    FROM judged AS j
    LEFT JOIN median_ranks AS k ON k.n = j.steady_n
)
SELECT
    line_id, path, line_number, byte_offset,
    record_id,
    hash(record_id) AS id_hash,
    id_number_of(record_id) AS id_number,
    run_id,
    coalesce(r.experiment_id, identity.experiment_id) AS experiment_id,
    r.environment.name AS environment,
    source,
    coalesce(r.purpose, 'benchmark') AS purpose,
    r.twin_of AS twin_of,
    coalesce(r.replica, 0) AS replica,
    coalesce(r.attempt, 1) AS attempt,
    CASE WHEN peer THEN identity.run_label ELSE r.run.label END AS run_label,
    r.run.command AS command,
    utc(r.timestamp) AS run_started,
    coalesce(r.model.suite_name, 'unknown') AS suite,
    r.model.model_name AS model,
    CASE r.experiment.test WHEN 'inference' THEN 'eval' WHEN 'training' THEN 'train' ELSE r.experiment.test END AS test,
    backend_of(r.experiment.xla, r.experiment.dynamo, r.experiment.torch_xla2) AS backend,
    CASE WHEN peer THEN identity.variant
        ELSE coalesce(
            nullif(r.variant, ''),
            backend_of(r.experiment.xla, r.experiment.dynamo, r.experiment.torch_xla2)
        ) END AS variant,
    r.experiment.accelerator AS accelerator,
    coalesce(nullif(r.experiment.accelerator_model, ''), r.environment.accelerator) AS accelerator_model,
    r.environment.machine_id AS machine_id,
    r.environment.host AS host,
    r.environment.torch AS torch,
    r.environment.torch_xla AS torch_xla,
    r.environment.threads AS threads,
    r.experiment.dtype AS dtype,
    r.experiment.batch_size AS batch_size,
    r.experiment.requested_batch_size AS requested_batch_size,
    r.experiment.optimizer AS optimizer,
    r.experiment.loss AS loss,
    r.experiment.matmul_precision AS matmul_precision,
    nullif(workload_text, '') AS workload,
    r.measurement.cache AS cache,
    r.measurement.start AS start,
    r.measurement.instrumented AS instrumented,
    r.measurement.quiet.rule AS quiet_rule,
    policy_of(r.measurement.quiet.policy, given_text) AS policy,
    len(r.measurement.quiet.turns.reason)::INTEGER AS turns_n,
    list_count(r.measurement.quiet.turns.reason)::INTEGER AS disturbed_turns_n,
    CASE WHEN status = 'disturbed' AND r.measurement.quiet.at_least_s > 0
        THEN r.measurement.quiet.at_least_s END AS at_least_s,
    CASE WHEN status = 'disturbed' AND r.measurement.quiet.at_most_s >= r.measurement.quiet.at_least_s
        THEN r.measurement.quiet.at_most_s END AS at_most_s,
    status,
    status = 'ok' AS ran,
    r.error.phase AS failure_phase,
    CASE
        WHEN status = 'ok' THEN NULL
        WHEN said = 'ok' AND kinds_unknown THEN
            format('blocks.kind has {} entries for {} timed blocks', coalesce(len(r.measurement.blocks.kind), 0), blocks_n)
        WHEN said = 'ok' AND steady_n = 0 THEN 'no steady block was recorded'
        WHEN said = 'ok' THEN 'a steady block took no time or less'
        WHEN peer AND said = 'skipped' THEN 'skipped by the peer''s runner'
        WHEN peer AND said = 'run_error' THEN coalesce(last_line(m.error), 'no message')
        WHEN peer AND blocks_n = 0 THEN 'no total_time in the record'
        WHEN peer THEN format('{} timed blocks; the peer''s rule needs more than 3', blocks_n)
        ELSE coalesce(
            first_line(r.error.message),
            CASE WHEN m.error <> 'SKIP' THEN first_line(m.error) END,
            CASE said
                WHEN 'never_steady' THEN 'its times never became steady'
                WHEN 'disturbed' THEN coalesce(
                    list_filter(r.findings, lambda f: f.code = 'disturbed')[1].text,
                    'other programs disturbed too many of its turns')
                WHEN 'skipped' THEN 'skipped without a reason'
                WHEN 'verify_only' THEN 'it was verified, not timed'
                WHEN 'reported' THEN 'its source gives numbers without samples'
                WHEN 'oom' THEN 'out of memory'
                WHEN 'timeout' THEN 'timed out'
                ELSE 'ended with status ' || said END
        )
    END AS reason,
    r.error.type AS error_type,
    coalesce(r.error.message, m.error) AS error_message,
    r.verification_code AS verification_code,
    r.iterations_per_run AS iterations_per_run,
    r.repeat AS repeat,
    steady_n,
    CASE WHEN status = 'ok' THEN middle(ordered_s) END AS latency_s,
    CASE WHEN status = 'ok' THEN ordered_s[rank] END AS latency_low_s,
    CASE WHEN status = 'ok' THEN ordered_s[steady_n + 1 - rank] END AS latency_high_s,
    CASE WHEN status = 'ok' AND steady_n > 1 THEN rounded(spread) END AS latency_spread,
    rounded(first_iteration) AS first_iteration_s,
    rounded(time_to_steady) AS time_to_steady_s,
    rounded(warm_up) AS warm_up_s,
    -- PyTorch/XLA's own numbers, to the last digit that its tools print.
    CASE WHEN len(whole_totals) > 1 THEN whole_totals[1] - list_avg(whole_totals[2:]) END AS compile_peer_s,
    list_avg(whole_totals[4:]) AS peer_exec_s,
    CASE WHEN len(whole_totals) > 3 THEN coalesce(list_stddev_samp(whole_totals[4:]), 0) END AS peer_exec_std_s,
    CASE WHEN r.experiment.dynamo <> '' THEN list_sum(m.dynamo_compile_time_s)
        WHEN r.experiment.xla <> '' THEN list_sum(m.xla_CompileTime_time_s) END AS compiler_time_s,
    CASE WHEN r.experiment.dynamo <> '' AND list_count(m.dynamo_compile_time_s) > 0 THEN 'dynamo'
        WHEN coalesce(r.experiment.dynamo, '') = '' AND r.experiment.xla <> ''
            AND list_count(m.xla_CompileTime_time_s) > 0 THEN 'XLA CompileTime' END AS compiler_source,
    CASE WHEN len(steady_traces) > 0 THEN middle(steady_traces) END AS trace_s,
    -- A column for each metric that store/metrics/metrics.yaml marks as recorded.
    {scalars},
    utc(r.finished_at) AS finished_at,
    list_concat(r.warnings, notes) AS warnings,
    r.reproduce AS reproduce,
    filled(kinds) AS block_kind,
    filled(rounds) AS block_round,
    CASE WHEN blocks_n > 0 THEN totals END AS block_total_s,
    CASE WHEN NOT per_iter_by_total THEN filled(per_iter) END AS block_per_iter_s,
    filled(traces) AS block_trace_s,
    filled(compile_times) AS block_compile_s,
    filled(execute_times) AS block_execute_s,
    filled(compiles) AS block_compiles,
    filled(executions) AS block_executions,
    filled(list_transform(loops, lambda n: greatest(coalesce(n, 1), 1))) AS block_loops,
    r.fallback_ops AS record_fallback_ops,
    r.graph_breaks AS record_graph_breaks,
    r.graphs AS record_graphs,
    r.artifacts AS record_artifacts,
    r.findings AS record_findings,
    further AS record_metrics
FROM numbers;
