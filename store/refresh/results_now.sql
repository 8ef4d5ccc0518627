-- Grain: one row per (run_id, experiment_id, environment), benchmark purpose only, newest complete attempt, of stale
-- runs. Planned experiments without a record appear as 'not_run' or 'skipped'. Latencies are seconds per iteration.
-- Views join and group by the keys: `result_id` names a row; `series_id` its series over the runs; `settings_id` what a
-- result and its baseline agree on; `suite_series_id` the series of a suite, which is that of the row without the
-- model.
WITH joined AS (
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
        m.detail_record_id,
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
        m.iterations_per_run,
        m.repeat,
        m.steady_n,
        m.latency_s,
        m.latency_low_s,
        m.latency_high_s,
        m.latency_spread,
        CASE WHEN m.latency_s > 0 THEN m.batch_size / m.latency_s END AS throughput_per_s,
        m.first_iteration_s,
        m.time_to_steady_s,
        m.warm_up_s,
        m.compile_peer_s,
        m.peer_exec_s,
        m.peer_exec_std_s,
        m.compiler_time_s,
        m.compiler_source,
        m.graphs_number,
        m.trace_s,
        m.runtime_start_s,
        m.load_time_s,
        m.start_time_s,
        m.peak_memory_bytes,
        m.setup_peak_memory_bytes,
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
    FROM planned AS p
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
