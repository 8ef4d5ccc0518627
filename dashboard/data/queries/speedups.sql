-- Grain: as macro speedups, for the shown run. Only what page Speedup shows or needs: of thousands of rows every further
-- column costs each change of a filter.
SELECT
    run_id, experiment_id, environment, record_id, suite, model, test, accelerator, dtype, requested_batch_size, batch_size,
    machine_id, optimizer, loss, matmul_precision, workload, backend, variant, status, ran, verification_code, latency_s, steady_n,
    throughput_per_s, speedup, speedup_low, speedup_high, speedup_reason, baseline_run_id, baseline_record_id,
    baseline_latency_s, baseline_steady_n, cross_device, series_id
FROM speedups($baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR)
WHERE /*filters*/
ORDER BY test, accelerator, suite, model, variant, environment
