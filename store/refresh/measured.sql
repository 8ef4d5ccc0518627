-- Grain: one row per (run_id, experiment_id, environment) with a record. Its replicas are pooled: all other columns are
-- those of the first replica that ran (else of the first), `detail_record_id` is replica 0, where verification, dumps
-- and fallback ops are. The pooled interval spans those of the replicas: samples of one process are not independent.
WITH members AS (
    SELECT s.group_complete, s.equals_n, r.*
    FROM shown_records AS s
    -- A record is of its result's run; said so, the columns of all other runs stay unread.
    JOIN records AS r ON r.record_id = s.record_id AND r.run_id = s.run_id
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
