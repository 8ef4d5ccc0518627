-- Views of results, and of what was measured for each.

-- name: results
-- Grain: one row per (run_id, experiment_id, environment), benchmark purpose only, newest complete attempt, replicas
-- pooled. Planned experiments without a record appear as 'not_run' or 'skipped'. Latencies are seconds per iteration.
CREATE OR REPLACE VIEW results AS
SELECT s.* EXCLUDE (result_id, settings_id, suite_series_id), r.record
FROM result_rows AS s
-- A record is of its result's run; said so, a query of one run leaves the text of all others unread.
LEFT JOIN records AS r ON r.record_id = s.record_id AND r.run_id = s.run_id;

-- name: latest_results
-- Grain: one row per series: its newest result from any run. Failures and skips are results; experiments that a run did
-- not reach are not. The columns are those of results without the record, and `epoch`, the number of users' marks
-- before it.
CREATE OR REPLACE VIEW latest_results AS
SELECT
    r.* EXCLUDE (result_id, settings_id, suite_series_id),
    coalesce(len(list_filter(e.begins, lambda begin: begin <= r.run_started)), 0)::INTEGER AS epoch
FROM result_rows AS r
LEFT JOIN epochs AS e ON e.series_id = r.series_id
WHERE r.rowid IN (
    SELECT arg_max(rowid, (run_started, run_id))
    FROM result_rows
    WHERE status <> 'not_run'
    GROUP BY series_id
);

-- name: processes
-- Grain of processes(): one row per record of a process that results pool: no calibration, confirmation or payoff, and no
-- A/A control. A result shows those of its attempt: it joins them by run_id, result_id and attempt.
CREATE OR REPLACE MACRO processes() AS TABLE
SELECT *
FROM records
WHERE purpose = 'benchmark' AND twin_of IS NULL;

-- name: samples
-- Grain: one row per timed block of a record: record_id × block, in order from 0. A record whose samples `xlabench
-- prune` has removed (`records.pruned_at`) has none. Where a block repeats its iterations (`inner_loops`), its times and
-- executions are those of one repetition.
CREATE OR REPLACE VIEW samples AS
SELECT
    record_id, block, kind, round, total_s,
    coalesce(per_iter_s, total_s / nullif(iterations_per_run, 0)) AS per_iter_s,
    trace_s, compiles, executions, compile_s, execute_s, coalesce(loops, 1) AS inner_loops
FROM (
    SELECT
        record_id,
        iterations_per_run,
        (generate_subscripts(block_total_s, 1) - 1)::INTEGER AS block,
        unnest(block_kind) AS kind,
        unnest(block_round) AS round,
        unnest(block_total_s) AS total_s,
        unnest(block_per_iter_s) AS per_iter_s,
        unnest(block_trace_s) AS trace_s,
        unnest(block_compile_s) AS compile_s,
        unnest(block_execute_s) AS execute_s,
        unnest(block_compiles) AS compiles,
        unnest(block_executions) AS executions,
        unnest(block_loops) AS loops
    FROM records
);

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

-- name: rates
-- Grain: as run_status: one row per run_id × suite × test × accelerator × backend × variant × environment. How much of
-- the plan ran, and how much of what answered was verified; every other entry of the plan is in one class: planned =
-- ran + verify_only + never_steady + disturbed + skipped + not_run + the seven failures. `verified_rate` is NULL, not 0
-- %, if no verification was requested.
CREATE OR REPLACE VIEW rates AS
SELECT
    *,
    ran_n / planned_n AS ran_rate,
    CASE WHEN verify_asked AND answered_n > 0 THEN verified_n / answered_n END AS verified_rate
FROM run_status;

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
    r.accelerator, r.environment, r.machine_id, r.dtype, f.code,
    arg_min(f.text, p.replica) AS text,
    arg_min(f.next_step, p.replica) AS next_step,
    count(DISTINCT p.record_id) AS processes_n
FROM result_rows AS r
JOIN processes() AS p USING (run_id, result_id, attempt)
JOIN record_findings AS f ON f.record_id = p.record_id
GROUP BY ALL;
