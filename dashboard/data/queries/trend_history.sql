-- Grain: as view history, for the runs $runs of one model, suite, test and accelerator.
SELECT
    series_id, epoch, run_id, run_label, run_started, suite, model, test, accelerator, backend, variant, environment,
    machine_id, dtype, requested_batch_size, optimizer, loss, matmul_precision, workload, status, ran, reason, steady_n,
    latency_s, latency_low_s, latency_high_s, first_iteration_s, compiler_time_s, peak_memory_bytes, valid, measured,
    batch_size, threads, iterations_per_run, start, policy
FROM history
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
    AND suite = $of_suite AND model = $of_model AND test = $of_test AND accelerator = $of_accelerator
    AND (len($backend::VARCHAR[]) = 0 OR list_contains($backend::VARCHAR[], backend))
    AND (len($dtype::VARCHAR[]) = 0 OR list_contains($dtype::VARCHAR[], dtype))
ORDER BY run_started, run_id, variant, environment
