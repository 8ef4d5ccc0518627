-- Views of series over time.

-- name: epochs
-- Grain: one row per series that a user's mark names: the times at which its epochs begin. A series without a row has
-- only epoch 0.
CREATE OR REPLACE VIEW epochs AS
SELECT series_id, list_sort(list(marked_at)) AS begins
FROM series_marks
GROUP BY series_id;

-- name: history
-- Grain: one row per series × run, planned ones without a measurement included (status not_run). `epoch` is the number
-- of users' marks before it; latencies of two epochs of a series are not compared, nor are those with another `measured`
-- (macro measured_as) or, where both are known, `policy`. `valid`: it ran, and its answer is not wrong. Query it for few
-- series at a time.
CREATE OR REPLACE VIEW history AS
SELECT
    r.series_id,
    epoch_at(e.begins, r.run_started) AS epoch,
    r.suite, r.model, r.test, r.accelerator, r.accelerator_model, r.backend, r.variant, r.environment, r.machine_id,
    r.dtype, r.requested_batch_size, r.optimizer, r.loss, r.matmul_precision, r.workload,
    r.run_id, r.run_label, r.run_started, r.experiment_id, r.record_id, r.status, r.ran, r.reason, r.error_signature,
    r.verification_code, r.batch_size, r.steady_n, r.latency_s, r.latency_low_s, r.latency_high_s, r.latency_spread,
    throughput_of(r.batch_size, r.latency_s) AS throughput_per_s, r.first_iteration_s, r.compiler_time_s,
    r.peak_memory_bytes, r.fallback_ops_n, r.graph_breaks_n, r.torch, r.torch_xla, r.host, r.threads, r.iterations_per_run, r.start, r.policy,
    measured_as(r.batch_size, r.threads, r.iterations_per_run, r.start, r.instrumented) AS measured,
    is_valid(r.ran, r.verification_code) AS valid
FROM result_rows AS r
LEFT JOIN epochs AS e ON e.series_id = r.series_id;

-- name: latest_results
-- Grain: one row per series: its newest result from any run. Failures and skips are results; experiments that a run did
-- not reach are not. The columns are those of results without what is read from the record, and `epoch`, the number of
-- users' marks before it.
CREATE OR REPLACE VIEW latest_results AS
SELECT
    r.* EXCLUDE (result_id, settings_id, suite_series_id)
        REPLACE (coalesce(r.detail_record_id, r.record_id) AS detail_record_id),
    throughput_of(r.batch_size, r.latency_s) AS throughput_per_s,
    epoch_at(e.begins, r.run_started) AS epoch
FROM result_rows AS r
LEFT JOIN epochs AS e ON e.series_id = r.series_id
WHERE r.rowid IN (
    SELECT arg_max(rowid, (run_started, run_id))
    FROM result_rows
    WHERE status <> 'not_run'
    GROUP BY series_id
);

-- name: series_changes
-- Grain: one row per confirmed change of a series' latency within one of its epochs (table change_points), with the words
-- of the series. `change_ratio` is latency after / before: above 1 is slower.
CREATE OR REPLACE VIEW series_changes AS
SELECT
    c.series_id, c.epoch, r.suite, r.model, r.test, r.accelerator, r.accelerator_model, r.backend, r.variant,
    r.environment, r.machine_id, r.dtype, r.requested_batch_size, r.optimizer, r.loss, r.matmul_precision, r.workload,
    c.run_before, c.run_after, r.run_label, c.started_before, c.started_after, c.latency_before_s, c.latency_after_s,
    c.change_ratio, c.change_low, c.change_high, c.before_n, c.after_n, c.p_value
FROM change_points AS c
JOIN result_rows AS r ON r.run_id = c.run_after AND r.series_id = c.series_id;

-- name: dropped
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
