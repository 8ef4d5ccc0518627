-- Grain: as macro geomeans, for the runs $runs, over the filtered models.
SELECT
    run_id, run_label, run_started, suite, test, accelerator, accelerator_model, machine_id, environment, dtype,
    requested_batch_size, optimizer, loss, matmul_precision, workload, backend, variant, baseline_run_id, n, geomean,
    geomean_low, geomean_high, planned_n, ran_n, answered_n, verified_n, verify_asked
FROM geomeans(
    $baseline_backend::VARCHAR,
    $point::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    runs := $runs::VARCHAR[],
    baseline_accelerator := $baseline_accelerator::VARCHAR,
    clean_of := $only::VARCHAR[]
)
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
    AND /*filters without run model*/
ORDER BY run_started, run_id, test, accelerator, suite, variant, environment
