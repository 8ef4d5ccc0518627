-- Steps that make the results of stale runs.

-- name: planned
-- Grain: one row per (run_id, experiment_id, environment) of the plan of a stale run, with the environment's facts.
CREATE OR REPLACE TEMP TABLE planned AS
WITH environments AS (
    SELECT *, json_extract_string(facts, '$.cpu') AS cpu FROM run_environments
)
SELECT
    p.run_id, p.experiment_id, p.environment, result_of(p.run_id, p.experiment_id, p.environment) AS result_id,
    p.group_id, p.suite, p.model, p.test, p.backend, p.variant,
    p.accelerator, p.dtype, p.requested_batch_size, p.optimizer, p.loss, p.matmul_precision, p.workload, p.cache,
    p.skip_reason, e.torch, e.torch_xla, e.host, e.machine_id,
    CASE WHEN p.accelerator = 'cpu' THEN coalesce(e.cpu, e.accelerator_model)
        ELSE e.accelerator_model END AS accelerator_model,
    e.threads
FROM plan_entries AS p
JOIN latest_run_files AS f ON f.path = p.path
LEFT JOIN environments AS e ON e.path = p.path AND e.environment = p.environment
WHERE p.run_id IN (SELECT run_id FROM stale_now)
    AND is_stale(result_of(p.run_id, p.experiment_id, p.environment))
QUALIFY row_number() OVER (PARTITION BY p.run_id, p.experiment_id, p.environment ORDER BY p.group_id) = 1;

-- name: benchmark_records
-- Grain: one row per record of a stale run that counts: no calibration, no A/A control. Only what chooses among records
-- stands here; the last step joins the rest by `row_id`, so that sorting moves few columns, and only the rows that count
-- are read again: run_id and record_id are of random digits, so that a scan for them skips nothing.
-- Of several foreign records of one experiment in one run the last in its file counts, as the peer's aggregator has it;
-- `equals_n` says how many there are. Only such records are looked up in their files.
CREATE OR REPLACE TEMP TABLE benchmark_records AS
WITH counted AS MATERIALIZED (
    SELECT rowid AS row_id, record_id, run_id, result_id, attempt, replica, count(*) OVER same AS equals_n
    FROM records -- as processes() has them, which has no row numbers
    WHERE purpose = 'benchmark' AND twin_of IS NULL
        AND run_id IN (SELECT run_id FROM stale_now) AND is_stale(result_id)
    WINDOW same AS (PARTITION BY run_id, result_id, attempt, replica)
),
placed AS (
    SELECT c.record_id, min(s.path) AS path, arg_min(s.byte_offset, s.path) AS byte_offset
    FROM counted AS c
    JOIN record_sources AS s ON s.record_id = c.record_id
    WHERE c.equals_n > 1
        -- Only these files have records of the run: with this condition, a scan compares few record_ids.
        AND s.path IN (SELECT path FROM run_sources WHERE run_id IN (SELECT run_id FROM stale_now))
    GROUP BY c.record_id
)
SELECT c.*
FROM counted AS c
LEFT JOIN placed AS p ON p.record_id = c.record_id
QUALIFY row_number() OVER (
    PARTITION BY c.run_id, c.result_id, c.attempt, c.replica ORDER BY p.path DESC, p.byte_offset DESC
) = 1;

-- name: shown_records
-- Grain: one row per (run_id, experiment_id, environment, replica): the records of the attempt that is shown.
-- That is the newest attempt in which every runnable member of the group has a record; without such, the newest
-- attempt of the experiment.
WITH group_size AS (
    SELECT run_id, group_id, count(*) AS members_n
    FROM planned
    WHERE skip_reason IS NULL
    GROUP BY run_id, group_id
),
complete AS (
    SELECT p.run_id, p.group_id, r.attempt
    FROM planned AS p
    JOIN benchmark_records AS r ON r.run_id = p.run_id AND r.result_id = p.result_id
    JOIN group_size AS g ON g.run_id = p.run_id AND g.group_id = p.group_id
    WHERE p.skip_reason IS NULL
    GROUP BY p.run_id, p.group_id, r.attempt, g.members_n
    HAVING count(DISTINCT p.result_id) = g.members_n
),
newest_complete AS (
    SELECT run_id, group_id, max(attempt) AS attempt
    FROM complete
    GROUP BY run_id, group_id
)
SELECT r.*, c.attempt IS NOT NULL AS group_complete
FROM benchmark_records AS r
LEFT JOIN planned AS p ON p.run_id = r.run_id AND p.result_id = r.result_id
LEFT JOIN newest_complete AS c ON c.run_id = p.run_id AND c.group_id = p.group_id AND p.skip_reason IS NULL
QUALIFY r.attempt = coalesce(
    c.attempt,
    max(r.attempt) OVER (PARTITION BY r.run_id, r.result_id)
)

-- name: measured
-- Grain: one row per (run_id, experiment_id, environment) with a record. Its replicas are pooled: all other columns are
-- those of the first replica that ran (else of the first), `detail_record_id` is replica 0, where verification, dumps
-- and fallback ops are. The pooled interval spans those of the replicas: samples of one process are not independent.
WITH members AS (
    SELECT s.group_complete, s.equals_n, r.*
    FROM shown_records AS s
    JOIN records AS r ON r.rowid = s.row_id
),
pools AS (
    SELECT
        run_id, result_id,
        count(*) AS replicas_n,
        count(*) FILTER (ran) AS replicas_ran_n,
        count(*) FILTER (ran AND pruned_at IS NOT NULL) AS pruned_n,
        first(record_id ORDER BY ran DESC, replica, record_id) AS first_record_id,
        arg_min(record_id, replica) AS detail_record_id,
        arg_min(verification_code, replica) AS detail_verification_code,
        sum(steady_n) FILTER (ran) AS pool_n,
        sum(turns_n)::INTEGER AS pool_turns_n,
        sum(disturbed_turns_n)::INTEGER AS pool_disturbed_turns_n,
        min(latency_low_s) FILTER (ran) AS pool_low_s,
        max(latency_high_s) FILTER (ran) AS pool_high_s,
        count(*) FILTER (ran AND latency_low_s IS NULL) AS without_interval_n,
        max(finished_at) AS pool_finished_at,
        first(reason) FILTER (NOT ran) AS failed_reason
    FROM members
    GROUP BY run_id, result_id
),
timed AS (
    -- As view samples has them, which would unfold the blocks of all runs.
    SELECT
        m.run_id, m.result_id, m.iterations_per_run,
        unnest(m.block_kind) AS kind, unnest(m.block_total_s) AS total_s, unnest(m.block_per_iter_s) AS given_s
    FROM members AS m
    JOIN pools AS p ON p.run_id = m.run_id AND p.result_id = m.result_id
    WHERE m.ran AND p.replicas_ran_n > 1
),
pooled_samples AS (
    SELECT run_id, result_id, list_sort(list(per_iter_s)) AS pool_s
    FROM (SELECT *, coalesce(given_s, total_s / nullif(iterations_per_run, 0)) AS per_iter_s FROM timed)
    WHERE kind = 'steady' AND per_iter_s IS NOT NULL
    GROUP BY run_id, result_id
)
SELECT
    r.* EXCLUDE (
        steady_n, latency_s, latency_low_s, latency_high_s, latency_spread, verification_code, finished_at, warnings,
        turns_n, disturbed_turns_n
    ),
    p.replicas_n,
    p.replicas_ran_n,
    p.detail_record_id,
    p.pool_turns_n AS turns_n,
    p.pool_disturbed_turns_n AS disturbed_turns_n,
    p.detail_verification_code AS verification_code,
    p.pool_finished_at AS finished_at,
    CASE WHEN p.replicas_ran_n > 0 THEN p.pool_n ELSE r.steady_n END AS steady_n,
    CASE WHEN p.replicas_ran_n > 1
        THEN CASE WHEN p.pruned_n = 0 THEN list_median(q.pool_s) ELSE k.latency_s END
        ELSE r.latency_s END AS latency_s,
    CASE WHEN p.replicas_ran_n > 1
        THEN CASE WHEN p.without_interval_n = 0 THEN p.pool_low_s END
        ELSE r.latency_low_s END AS latency_low_s,
    CASE WHEN p.replicas_ran_n > 1
        THEN CASE WHEN p.without_interval_n = 0 THEN p.pool_high_s END
        ELSE r.latency_high_s END AS latency_high_s,
    CASE WHEN p.replicas_ran_n > 1
        THEN CASE WHEN p.pruned_n = 0
            THEN (list_aggregate(q.pool_s, 'quantile_cont', 0.75) - list_aggregate(q.pool_s, 'quantile_cont', 0.25))
                / list_median(q.pool_s)
            ELSE k.latency_spread END
        ELSE r.latency_spread END AS latency_spread,
    list_concat(
        r.warnings,
        CASE WHEN r.equals_n > 1
            THEN [format('{} records of this experiment in its file; the last one counts', r.equals_n)]
            ELSE []::VARCHAR[] END,
        CASE WHEN p.replicas_ran_n BETWEEN 1 AND p.replicas_n - 1
            THEN [format('{} of {} processes gave no result: {}', p.replicas_n - p.replicas_ran_n, p.replicas_n, p.failed_reason)]
            ELSE []::VARCHAR[] END
    ) AS warnings
FROM pools AS p
JOIN members AS r ON r.record_id = p.first_record_id
LEFT JOIN pooled_samples AS q ON q.run_id = p.run_id AND q.result_id = p.result_id
-- Of the same processes as now: with one more, their common median is unknown until a rebuild reads all samples again.
LEFT JOIN pruned_pools AS k
    ON p.pruned_n > 0 AND k.run_id = p.run_id AND k.result_id = p.result_id
    AND k.attempt = r.attempt AND k.replicas_ran_n = p.replicas_ran_n AND k.steady_n = p.pool_n

-- name: results_now
-- Grain: one row per (run_id, experiment_id, environment), benchmark purpose only, newest complete attempt, of stale
-- runs. Planned experiments without a record appear as 'not_run' or 'skipped'. Latencies are seconds per iteration.
-- Views join and group by the keys: `result_id` names a row; `series_id` its series over the runs; `settings_id` what a
-- result and its baseline agree on; `suite_series_id` the series of a suite, which is that of the row without the
-- model. `detail_record_id` is NULL where it is `record_id`: an id of random digits is as long as two numbers. What only view
-- results shows of that record stays in `records`.
WITH halves AS (
    -- One core scans what fits into one row group of a temporary table, and would do all that follows.
    FROM planned WHERE rowid % 2 = 0
    UNION ALL
    FROM planned WHERE rowid % 2 = 1
),
joined AS (
    SELECT
        coalesce(m.run_id, p.run_id) AS run_id,
        coalesce(f.label, m.run_label, coalesce(m.run_id, p.run_id)) AS run_label,
        coalesce(f.started, m.run_started) AS run_started,
        coalesce(m.source, 'xlabench') AS source,
        f.run_id IS NOT NULL AS plan_known,
        coalesce(m.experiment_id, p.experiment_id) AS experiment_id,
        coalesce(m.result_id, p.result_id) AS result_id,
        series_of(
            coalesce(m.experiment_id, p.experiment_id), coalesce(m.environment, p.environment),
            coalesce(m.accelerator_model, p.accelerator_model), coalesce(m.machine_id, p.machine_id)
        ) AS series_id,
        m.record_id,
        nullif(m.detail_record_id, m.record_id) AS detail_record_id,
        coalesce(m.suite, p.suite) AS suite,
        coalesce(m.model, p.model) AS model,
        coalesce(m.test, p.test) AS test,
        coalesce(m.backend, p.backend) AS backend,
        coalesce(m.variant, p.variant) AS variant,
        coalesce(m.accelerator, p.accelerator) AS accelerator,
        coalesce(m.accelerator_model, p.accelerator_model) AS accelerator_model,
        coalesce(m.environment, p.environment) AS environment,
        coalesce(m.machine_id, p.machine_id) AS machine_id,
        coalesce(m.host, p.host) AS host,
        coalesce(m.torch, p.torch) AS torch,
        coalesce(m.torch_xla, p.torch_xla) AS torch_xla,
        coalesce(m.threads, p.threads) AS threads,
        coalesce(m.dtype, p.dtype) AS dtype,
        m.batch_size,
        coalesce(m.requested_batch_size, p.requested_batch_size) AS requested_batch_size,
        coalesce(m.optimizer, p.optimizer) AS optimizer,
        coalesce(m.loss, p.loss) AS loss,
        coalesce(m.matmul_precision, p.matmul_precision) AS matmul_precision,
        CASE WHEN m.record_id IS NOT NULL THEN m.workload ELSE p.workload END AS workload,
        CASE WHEN m.record_id IS NOT NULL THEN m.status
            WHEN p.skip_reason IS NOT NULL THEN 'skipped'
            ELSE 'not_run' END AS status,
        coalesce(m.ran, false) AS ran,
        m.failure_phase,
        CASE WHEN m.record_id IS NOT NULL THEN CASE WHEN m.status = 'skipped' THEN coalesce(p.skip_reason, m.reason)
                ELSE m.reason END
            WHEN p.skip_reason IS NOT NULL THEN p.skip_reason
            ELSE 'planned, and not measured so far' END AS reason,
        CASE WHEN outcome(m.status, m.ran, NULL) = 'F' THEN error_signature(m.reason, m.model) END AS error_signature,
        m.verification_code,
        NULL::VARCHAR AS verification_run_id,
        m.iterations_per_run,
        m.repeat,
        m.steady_n,
        m.latency_s,
        m.latency_low_s,
        m.latency_high_s,
        m.latency_spread,
        m.first_iteration_s,
        m.time_to_steady_s,
        m.warm_up_s,
        m.compile_peer_s,
        m.compiler_time_s,
        m.compiler_source,
        m.trace_s,
        {scalars},
        coalesce(m.cache, p.cache) AS cache,
        m.start,
        m.instrumented,
        m.quiet_rule,
        m.policy,
        m.turns_n,
        m.disturbed_turns_n,
        m.at_least_s,
        m.at_most_s,
        m.attempt,
        m.group_complete,
        m.replicas_n,
        m.replicas_ran_n,
        m.finished_at,
        coalesce(m.warnings, []::VARCHAR[]) AS warnings,
        coalesce(o.fallback_ops_n, CASE WHEN m.ran AND m.source = 'xlabench' THEN 0 END) AS fallback_ops_n,
        coalesce(o.calls_per_iteration, CASE WHEN m.ran AND m.source = 'xlabench' THEN 0 END)
            AS fallback_calls_per_iteration,
        coalesce(b.graph_breaks_n, CASE WHEN m.ran AND m.source = 'xlabench' THEN 0 END) AS graph_breaks_n,
        m.reproduce
    FROM halves AS p
    FULL OUTER JOIN measured AS m ON m.run_id = p.run_id AND m.result_id = p.result_id
    LEFT JOIN latest_run_files AS f ON f.run_id = coalesce(m.run_id, p.run_id)
    LEFT JOIN (
        SELECT record_id, count(DISTINCT op) AS fallback_ops_n, sum(calls_per_iteration) AS calls_per_iteration
        FROM record_fallback_ops
        WHERE record_id IN (SELECT record_id FROM benchmark_records)
        GROUP BY record_id
    ) AS o ON o.record_id = m.detail_record_id
    LEFT JOIN (
        SELECT record_id, sum(count)::BIGINT AS graph_breaks_n
        FROM record_graph_breaks
        WHERE record_id IN (SELECT record_id FROM benchmark_records)
        GROUP BY record_id
    ) AS b ON b.record_id = m.detail_record_id
)
SELECT
    *,
    settings_of(environment, dtype, requested_batch_size, optimizer, loss, matmul_precision, workload) AS settings_id,
    suite_series_of(joined) AS suite_series_id
FROM joined

-- name: pairs_now
-- Grain: as view aa_pairs, of stale runs. `log_ratio` is the median over common rounds of ln(first / second);
-- `quiet`: the turns of both were judged, and disturbed ones left out. `measured` is that of macro measured_as without the
-- batch size, which is that of the experiment.
WITH own AS (
    SELECT *
    FROM records
    WHERE run_id IN (SELECT run_id FROM stale_now) AND (purpose = 'calibration' OR twin_of IS NOT NULL)
),
pairs AS (
    SELECT a.record_id AS first_id, b.record_id AS second_id, 'calibration' AS origin
    FROM own AS a
    JOIN own AS b
        ON b.run_id = a.run_id AND b.result_id = a.result_id AND b.attempt = a.attempt AND b.replica = a.replica + 1
    WHERE a.purpose = 'calibration' AND b.purpose = 'calibration' AND a.twin_of IS NULL AND b.twin_of IS NULL
        AND a.replica % 2 = 0
    UNION ALL
    SELECT a.record_id, b.record_id, 'twin'
    FROM own AS b
    JOIN records AS a ON a.record_id = b.twin_of
),
-- Named by their purpose: of the pairs DuckDB cannot tell that they are few, and would hash all samples instead.
rounds AS (
    SELECT record_id, round, median(per_iter_s) AS round_s
    FROM samples
    WHERE kind = 'steady' AND per_iter_s > 0
        AND record_id IN (
            SELECT record_id FROM own
            UNION ALL
            SELECT twin_of FROM own WHERE twin_of IS NOT NULL
        )
    GROUP BY record_id, round
    UNION ALL
    SELECT record_id, unnest(kept_rounds), unnest(kept_rounds_s)
    FROM records
    WHERE pruned_at IS NOT NULL AND run_id IN (SELECT run_id FROM own)
),
-- Made before the other side is joined: joined by the round alone, the rounds of all records would pair with each other.
firsts AS MATERIALIZED (
    SELECT p.first_id, p.second_id, p.origin, x.round, x.round_s
    FROM pairs AS p
    JOIN rounds AS x ON x.record_id = p.first_id
)
SELECT
    r.run_id, r.machine_id, r.experiment_id, r.environment, r.suite, r.model, r.test, r.variant, r.attempt, p.origin,
    p.first_id, p.second_id, r.accelerator, r.threads, r.policy,
    measured_as(NULL, r.threads, r.iterations_per_run, r.start, r.instrumented) AS measured,
    r.quiet_rule IS NOT NULL AND s.quiet_rule IS NOT NULL AS quiet,
    count(*) AS rounds_n,
    median(ln(p.round_s / y.round_s)) AS log_ratio,
    CASE WHEN count(*) > 1
        THEN pi() / 2 * pow(1.4826 * mad_factor(count(*)) * mad(ln(p.round_s / y.round_s)), 2) / count(*)
    END AS round_variance
FROM firsts AS p
JOIN records AS r ON r.record_id = p.first_id AND r.ran
JOIN records AS s ON s.record_id = p.second_id AND s.ran
JOIN rounds AS y ON y.record_id = p.second_id AND y.round = p.round
GROUP BY ALL
