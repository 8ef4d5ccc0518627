-- Views of results, and of what was measured for each.

-- name: results
-- Grain: one row per (run_id, experiment_id, environment), benchmark purpose only, newest complete attempt, replicas
-- pooled. Planned experiments without a record appear as 'not_run' or 'skipped'. Latencies are seconds per iteration.
CREATE OR REPLACE VIEW results AS
SELECT
    s.* EXCLUDE (result_id, settings_id, suite_series_id)
        REPLACE (coalesce(s.detail_record_id, s.record_id) AS detail_record_id),
    throughput_of(s.batch_size, s.latency_s) AS throughput_per_s, r.peer_exec_s, r.peer_exec_std_s, whole_text(r) AS record
FROM result_rows AS s
-- A record is of its result's run; said so, a query of one run leaves the text of all others unread.
LEFT JOIN records AS r ON r.record_id = s.record_id AND r.run_id = s.run_id;

-- name: compile_times
-- Grain: one row per result with any compile number. These numbers measure different things and are never added.
CREATE OR REPLACE VIEW compile_times AS
SELECT
    run_id, run_label, run_started, source, experiment_id, record_id, suite, model, test, backend, variant, accelerator,
    accelerator_model, environment, machine_id, host, torch, torch_xla, dtype, batch_size, requested_batch_size, status,
    ran, steady_n, first_iteration_s, time_to_steady_s, compile_peer_s, compiler_time_s, compiler_source, graphs_number,
    cache, start, runtime_start_s
FROM result_rows
WHERE coalesce(first_iteration_s, time_to_steady_s, compile_peer_s, compiler_time_s, graphs_number) IS NOT NULL;

-- name: memory
-- Grain: one row per result with any memory number. `eager_peak_memory_bytes` is the peak of eager's result of the same run,
-- model, test and settings; `memory_ratio` is eager's peak over the own one: above 1 needs less memory than eager.
CREATE OR REPLACE VIEW memory AS
SELECT
    r.run_id, r.run_label, r.run_started, r.result_id, r.series_id, r.experiment_id, r.record_id, r.suite, r.model,
    r.test, r.backend, r.variant, r.accelerator, r.accelerator_model, r.environment, r.machine_id, r.dtype, r.batch_size,
    r.requested_batch_size, r.status, r.ran, r.peak_memory_bytes, r.setup_peak_memory_bytes,
    e.peak_memory_bytes AS eager_peak_memory_bytes,
    CASE WHEN r.peak_memory_bytes > 0 AND e.peak_memory_bytes > 0
        THEN e.peak_memory_bytes / r.peak_memory_bytes END AS memory_ratio
FROM result_rows AS r
LEFT JOIN result_rows AS e
    ON e.run_id = r.run_id AND e.suite = r.suite AND e.model = r.model AND e.test = r.test
    AND e.accelerator = r.accelerator AND e.settings_id = r.settings_id AND e.variant = 'eager' AND e.ran
    AND e.accelerator_model IS NOT DISTINCT FROM r.accelerator_model
    AND e.machine_id IS NOT DISTINCT FROM r.machine_id
    AND e.batch_size IS NOT DISTINCT FROM r.batch_size
WHERE coalesce(r.peak_memory_bytes, r.setup_peak_memory_bytes) IS NOT NULL;

-- name: findings
-- Grain: one row per result and code of a finding (a measurement warning): why its numbers may be doubted, in how many
-- of its processes, and what to do. `text` is that of the first process.
CREATE OR REPLACE VIEW findings AS
SELECT
    r.run_id, r.run_label, r.run_started, r.result_id, r.experiment_id, r.suite, r.model, r.test, r.backend, r.variant,
    r.accelerator, r.environment, r.machine_id, r.dtype, f.code, f.text, f.next_step, f.processes_n
FROM result_rows AS r
JOIN (
    SELECT
        p.run_id, p.result_id, p.attempt, f.code,
        arg_min(f.text, p.replica) AS text,
        arg_min(f.next_step, p.replica) AS next_step,
        len(list_distinct(list(p.record_id))) AS processes_n
    FROM processes() AS p
    JOIN record_findings AS f ON f.record_id = p.record_id
    GROUP BY p.run_id, p.result_id, p.attempt, f.code
) AS f USING (run_id, result_id, attempt);
