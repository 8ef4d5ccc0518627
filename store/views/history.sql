-- Grain: one row per series × run, planned ones without a measurement included (status not_run). `epoch` is the number
-- of users' marks before it; latencies of two epochs of a series are not compared, nor are those with another `measured`
-- (macro measured_as) or, where both are known, `policy`. `valid`: it ran, and its answer is not wrong. Query it for few
-- series at a time.
CREATE OR REPLACE VIEW history AS
SELECT
    r.series_id,
    coalesce(len(list_filter(e.begins, lambda begin: begin <= r.run_started)), 0)::INTEGER AS epoch,
    r.suite, r.model, r.test, r.accelerator, r.accelerator_model, r.backend, r.variant, r.environment, r.machine_id,
    r.dtype, r.requested_batch_size, r.optimizer, r.loss, r.matmul_precision, r.workload,
    r.run_id, r.run_label, r.run_started, r.experiment_id, r.record_id, r.status, r.ran, r.reason, r.error_signature,
    r.verification_code, r.batch_size, r.steady_n, r.latency_s, r.latency_low_s, r.latency_high_s, r.latency_spread,
    r.throughput_per_s, r.first_iteration_s, r.compiler_time_s, r.peak_memory_bytes, r.fallback_ops_n,
    r.graph_breaks_n, r.torch, r.torch_xla, r.host, r.threads, r.iterations_per_run, r.start, r.policy,
    measured_as(r.batch_size, r.threads, r.iterations_per_run, r.start, r.instrumented) AS measured,
    is_valid(r.ran, r.verification_code) AS valid
FROM result_rows AS r
LEFT JOIN epochs AS e ON e.series_id = r.series_id;
