-- Grain: one row per (run_id, experiment_id, environment) with a record. Its replicas are pooled: all other columns are
-- those of the first replica that ran (else of the first), `detail_record_id` is replica 0, where verification, dumps
-- and fallback ops are. The pooled interval spans those of the replicas: samples of one process are not independent.
CREATE OR REPLACE TEMP VIEW measured AS
WITH pools AS (
    SELECT
        run_id, experiment_id, environment,
        count(*) AS replicas_n,
        count(*) FILTER (ran) AS replicas_ran_n,
        arg_min(record_id, replica) AS detail_record_id,
        arg_min(verification_code, replica) AS detail_verification_code,
        sum(steady_n) FILTER (ran) AS pool_n,
        flatten(list(steady_s) FILTER (ran)) AS pool_s,
        min(latency_low_s) FILTER (ran) AS pool_low_s,
        max(latency_high_s) FILTER (ran) AS pool_high_s,
        count(*) FILTER (ran AND latency_low_s IS NULL) AS without_interval_n,
        max(peak_memory_bytes) AS pool_peak_memory_bytes,
        max(finished_at) AS pool_finished_at,
        first(reason) FILTER (NOT ran) AS failed_reason
    FROM shown_records
    GROUP BY run_id, experiment_id, environment
)
SELECT
    r.* EXCLUDE (
        steady_n, latency_s, latency_low_s, latency_high_s, latency_spread, verification_code, finished_at, warnings
    ),
    p.replicas_n,
    p.replicas_ran_n,
    p.detail_record_id,
    p.detail_verification_code AS verification_code,
    p.pool_finished_at AS finished_at,
    CASE WHEN p.replicas_ran_n > 0 THEN p.pool_n ELSE r.steady_n END AS steady_n,
    CASE WHEN p.replicas_ran_n > 1 THEN list_median(p.pool_s) ELSE r.latency_s END AS latency_s,
    CASE WHEN p.replicas_ran_n > 1
        THEN CASE WHEN p.without_interval_n = 0 THEN p.pool_low_s END
        ELSE r.latency_low_s END AS latency_low_s,
    CASE WHEN p.replicas_ran_n > 1
        THEN CASE WHEN p.without_interval_n = 0 THEN p.pool_high_s END
        ELSE r.latency_high_s END AS latency_high_s,
    CASE WHEN p.replicas_ran_n > 1
        THEN (list_aggregate(p.pool_s, 'quantile_cont', 0.75) - list_aggregate(p.pool_s, 'quantile_cont', 0.25))
            / list_median(p.pool_s)
        ELSE r.latency_spread END AS latency_spread,
    list_concat(
        r.warnings,
        CASE WHEN r.equals_n > 1
            THEN [format('{} records of this experiment in its file; the last one counts', r.equals_n)]
            ELSE []::VARCHAR[] END,
        CASE WHEN p.replicas_ran_n BETWEEN 1 AND p.replicas_n - 1
            THEN [format('{} of {} processes failed: {}', p.replicas_n - p.replicas_ran_n, p.replicas_n, p.failed_reason)]
            ELSE []::VARCHAR[] END
    ) AS warnings
FROM shown_records AS r
JOIN pools AS p
    ON p.run_id = r.run_id AND p.experiment_id = r.experiment_id AND p.environment IS NOT DISTINCT FROM r.environment
QUALIFY row_number() OVER (
    PARTITION BY r.run_id, r.experiment_id, r.environment ORDER BY r.ran DESC, r.replica, r.record_id
) = 1;
