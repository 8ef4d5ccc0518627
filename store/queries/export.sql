-- Queries of the exports to tables.

-- name: export_hud_reported
-- Grain: as view hud_reported, of one run.
SELECT *
FROM hud_reported
WHERE run_id = $run

-- name: export_lines
-- Grain: one row per record of the runs, in the order of their files: equal foreign records keep their order. Without
-- the key of joins: the units of the columns are in their names, times are UTC.
SELECT r.* EXCLUDE (result_id) REPLACE (whole_text(r)::VARCHAR AS record)
FROM records AS r
JOIN record_places($runs) AS s USING (record_id)
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[]))
ORDER BY r.run_id, s.path, s.byte_offset, r.record_id

-- name: export_peer
-- Grain: one row per record of the runs that the peer's format can hold: all of the peer's own, and of ours the one
-- process whose attempt is shown, replica 0, with its verification code: that of a later run, where one verified it.
SELECT whole_text(r) AS record, r.source, r.backend, r.variant, r.run_id, r.environment, r.status, q.verification_code
FROM processes() AS r
JOIN record_places($runs) AS s USING (record_id)
LEFT JOIN result_rows AS q ON q.run_id = r.run_id AND coalesce(q.detail_record_id, q.record_id) = r.record_id
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[]))
    AND (r.source = 'peer' OR q.run_id IS NOT NULL)
ORDER BY r.run_started, r.run_id, s.path, s.byte_offset, r.record_id

-- name: export_plans
-- Grain: one row per run that has a run.json (of copies in several places the last path), with what the index keeps of
-- it: the file's path, its environments, and its plan in the order of the file.
SELECT
    f.path, f.run_id, f.label, f.command, epoch_us(f.started) / 1e6 AS started, f.plan_id, f.settings::VARCHAR AS settings,
    (SELECT list(e.facts::VARCHAR ORDER BY e.rowid) FROM run_environments AS e WHERE e.path = f.path) AS environments,
    (
        SELECT list({
            'experiment_id': p.experiment_id, 'environment': p.environment, 'group': p.group_id, 'variant': p.variant,
            'backend': p.backend, 'skip_reason': p.skip_reason, 'suite_name': p.suite, 'model_name': p.model,
            'test': p.test, 'accelerator': p.accelerator, 'dtype': p.dtype, 'batch_size': p.requested_batch_size,
            'optimizer': p.optimizer, 'loss': p.loss, 'matmul_precision': p.matmul_precision, 'cache': p.cache,
            'workload': p.workload
        } ORDER BY p.rowid)
        FROM plan_entries AS p
        WHERE p.path = f.path
    ) AS plan
FROM run_files AS f
WHERE f.run_id IN (SELECT unnest($runs::VARCHAR[]))
QUALIFY row_number() OVER (PARTITION BY f.run_id ORDER BY f.path DESC) = 1
ORDER BY f.run_id

-- name: export_record_details
-- Grain: one row per record that a result of the runs is made of, with what the harness's files say beside its times.
SELECT r.record_id, r.batch_size, r.compiler_time_s, r.compiler_source, whole_text(r) AS record
FROM processes() AS r
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[]))

-- name: export_record_lines
-- Grain: as export_lines, the run and the line only.
SELECT r.run_id, whole_text(r) AS record
FROM records AS r
JOIN record_places($runs) AS s USING (record_id)
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[]))
ORDER BY r.run_id, s.path, s.byte_offset, r.record_id

-- name: export_table
-- Grain: that of the table or view $table, of these runs.
SELECT COLUMNS(lambda name: name <> 'result_id')
FROM query_table($table::VARCHAR)
WHERE list_contains($runs::VARCHAR[], run_id)

-- name: export_table_runs
-- Grain: one row per run; `month` of its start (UTC) names the partition that its files lie in.
SELECT run_id, coalesce(strftime(min(started), '%Y-%m'), 'unknown') AS month
FROM (SELECT run_id, run_started AS started FROM records UNION ALL SELECT run_id, started FROM run_files)
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
GROUP BY run_id
ORDER BY run_id

-- name: export_table_samples
-- Grain: one row per timed block of these runs, with what tells its experiment; those of
-- calibrations and confirmations too, which `purpose` tells, and those of A/A controls (`twin_of`).
SELECT
    r.run_id, r.experiment_id, r.environment, r.purpose, r.twin_of, r.replica, r.suite, r.model, r.test, r.backend, r.variant, s.*
FROM samples AS s
JOIN records AS r USING (record_id)
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[]))
ORDER BY r.experiment_id, r.environment, r.replica, s.block

-- name: export_table_speedups
-- Grain: one row per result of these runs, with its speedup over inductor in the same run.
SELECT s.* EXCLUDE (result_id, settings_id, suite_series_id), r.peer_exec_s, r.peer_exec_std_s
FROM speedups('inductor', NULL, runs := $runs::VARCHAR[]) AS s
LEFT JOIN records AS r ON r.record_id = s.record_id AND r.run_id = s.run_id
