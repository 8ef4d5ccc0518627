-- Grain: one row per series without the model, of the shown run, that has a speedup: on how many models its 95 % interval
-- lies below 1, above 1, or holds 1, and which models are below. The baseline's own rows are left out.
SELECT
    test, accelerator, environment, dtype, requested_batch_size, machine_id, optimizer, loss, matmul_precision, workload,
    backend, variant,
    count(*) AS results_n,
    count(*) FILTER (speedup_high < 1) AS slower_n,
    count(*) FILTER (speedup_low > 1) AS faster_n,
    count(*) FILTER (speedup_low <= 1 AND speedup_high >= 1) AS between_n,
    count(*) FILTER (speedup_low IS NULL) AS without_interval_n,
    coalesce(list(model ORDER BY speedup, model) FILTER (speedup_high < 1), []) AS slower_models,
    coalesce(list(speedup ORDER BY speedup, model) FILTER (speedup_high < 1), []) AS slower_speedups
FROM speedups($baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR)
WHERE speedup IS NOT NULL AND record_id <> baseline_record_id AND /*filters*/
GROUP BY ALL
ORDER BY test, accelerator, variant
