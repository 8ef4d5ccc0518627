-- Grain: one row per result of the shown run that has a speedup, the baseline's own left out. `place` counts its series
-- from the slowest model on; `share` of the series' models have at most this speedup.
SELECT
    test, accelerator, suite, model, environment, dtype, requested_batch_size, machine_id, optimizer, loss,
    matmul_precision, workload, backend, variant, speedup, speedup_low, speedup_high,
    row_number() OVER series AS place,
    count(*) OVER (PARTITION BY test, accelerator, machine_id, settings_id, variant) AS results_n,
    place / results_n AS share,
    run_id, experiment_id
FROM speedups($baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR)
WHERE speedup > 0 AND record_id <> baseline_record_id AND /*filters*/
WINDOW series AS (PARTITION BY test, accelerator, machine_id, settings_id, variant ORDER BY speedup, suite, model)
ORDER BY test, accelerator, variant, environment, place
