-- Grain: one row per run label × series that the newest run of this label on its machine does not plan, although an
-- earlier one did: a configuration that stopped reporting. `missing_n` runs are newer than the last one with it. A run
-- that plans less than half of what another one planned in the week before it counts as a rerun and is ignored.
CREATE OR REPLACE VIEW dropped AS
WITH presence AS (
    SELECT
        run_label, machine_id, series_id,
        count(*) AS seen_n,
        max(run_started) AS last_started,
        arg_max(rowid, (run_started, run_id)) AS last_row
    FROM result_rows
    GROUP BY run_label, machine_id, series_id
),
runs_of AS (
    SELECT
        run_label, machine_id,
        list(run_started) FILTER (is_whole) AS starts,
        max(run_started) FILTER (is_whole) AS newest_started,
        arg_max(run_id, (run_started, run_id)) FILTER (is_whole) AS newest_run_id
    FROM (
        SELECT
            run_label, machine_id, run_id, run_started,
            2 * count(*) >= max(count(*)) OVER (
                PARTITION BY run_label, machine_id
                ORDER BY run_started
                RANGE BETWEEN INTERVAL 7 DAY PRECEDING AND CURRENT ROW
            ) AS is_whole
        FROM result_rows
        GROUP BY run_label, machine_id, run_id, run_started
    )
    GROUP BY run_label, machine_id
)
SELECT
    p.run_label, p.series_id, r.suite, r.model, r.test, r.accelerator, r.accelerator_model, r.backend, r.variant,
    r.environment, r.machine_id, r.dtype, r.requested_batch_size, r.optimizer, r.loss, r.matmul_precision, r.workload,
    p.seen_n,
    len(list_filter(n.starts, lambda start: start > p.last_started)) AS missing_n,
    r.run_id AS last_run_id,
    p.last_started,
    r.status AS last_status,
    n.newest_run_id,
    n.newest_started
FROM presence AS p
JOIN runs_of AS n ON n.run_label = p.run_label AND n.machine_id IS NOT DISTINCT FROM p.machine_id
JOIN result_rows AS r ON r.rowid = p.last_row
WHERE p.last_started < n.newest_started;
