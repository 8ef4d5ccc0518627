-- The results of the runs $runs with their baselines, for the macros that take means over some of their models.
-- `pairs.sql` comes after it.
CREATE TEMP TABLE speedup_rows AS
SELECT
    run_id, run_label, run_started, plan_known, series_id, settings_id, suite_series_id, suite, model, test, accelerator,
    accelerator_model, machine_id, environment, dtype, requested_batch_size, optimizer, loss, matmul_precision, workload,
    backend, variant, status, ran, valid, verification_code, batch_size, threads, iterations_per_run, start, instrumented,
    policy, latency_s, fallback_ops_n, graph_breaks_n, speedup, baseline_run_id, baseline_latency_s, baseline_valid,
    cross_device
FROM speedups(
    $baseline_backend::VARCHAR, $point::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR,
    runs := $runs::VARCHAR[]
);

CREATE TEMP TABLE baseline_rows AS
SELECT
    run_key, suite, model, test, accelerator, settings_id, valid
FROM baselines($baseline_backend::VARCHAR, $point::VARCHAR, $baseline_accelerator::VARCHAR, $runs::VARCHAR[]);
