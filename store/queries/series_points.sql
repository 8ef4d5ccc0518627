-- Grain: one row per valid result of a stale series, of each of its epochs and ways to measure (macro measured_as) the newest
-- $last_n, oldest first; those of fewer than $min_n results are left out. Where a record does not say how threads waited,
-- its `policy` is that of the run before, else of the first that says so.
WITH points AS (
    SELECT
        r.series_id, r.run_id, r.run_started, r.latency_s,
        coalesce(len(list_filter(e.begins, lambda begin: begin <= r.run_started)), 0)::INTEGER AS epoch,
        measured_as(r.batch_size, r.threads, r.iterations_per_run, r.start, r.instrumented) AS measured,
        coalesce(
            last_value(r.policy IGNORE NULLS) OVER (PARTITION BY r.series_id ORDER BY r.run_started, r.run_id),
            first_value(r.policy IGNORE NULLS) OVER (
                PARTITION BY r.series_id ORDER BY r.run_started, r.run_id
                ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
            )
        ) AS policy
    FROM result_rows AS r
    LEFT JOIN epochs AS e ON e.series_id = r.series_id
    WHERE r.series_id IN (SELECT series_id FROM stale_series)
        AND is_valid(r.ran, r.verification_code) AND r.latency_s > 0
)
SELECT series_id, epoch, measured, policy, run_id, run_started, latency_s
FROM points
QUALIFY row_number() OVER (
        PARTITION BY series_id, epoch, measured, policy ORDER BY run_started DESC, run_id DESC
    ) <= $last_n
    AND count(*) OVER (PARTITION BY series_id, epoch, measured, policy) >= $min_n
ORDER BY series_id, epoch, measured, policy, run_started, run_id
