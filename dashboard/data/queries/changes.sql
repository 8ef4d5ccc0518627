-- Grain: as view series_changes: one row per confirmed change of a series' latency, the newest first.
SELECT
    started_after, suite, model, test, accelerator, accelerator_model, backend, variant, environment, machine_id, dtype,
    requested_batch_size, optimizer, loss, matmul_precision, workload, run_label, run_before, run_after, started_before,
    latency_before_s, latency_after_s, change_ratio, change_low, change_high, before_n, after_n, p_value, series_id
FROM series_changes
WHERE /*filters without run*/
ORDER BY started_after DESC, suite, model, test, variant
