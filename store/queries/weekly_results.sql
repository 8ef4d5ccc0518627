-- Grain: one row per result of the runs $runs on the accelerator $accelerator.
SELECT
    run_id, experiment_id, coalesce(environment, 'default') AS environment, suite, model, test, accelerator, backend,
    variant, dtype, requested_batch_size, optimizer, loss, matmul_precision, workload, status,
    outcome(status, ran, verification_code) AS outcome, ran, verification_code, failure_phase, reason, error_signature,
    attempt, graphs_number, graph_breaks_n, reproduce, series_id
FROM result_rows
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND accelerator = $accelerator
ORDER BY suite, model, test, variant, environment
