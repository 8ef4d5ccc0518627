-- Grain: as view results, for the shown run. What page Runs shows or needs; `reproduce` alone is as long as all else.
SELECT
    run_id, experiment_id, environment, record_id, suite, model, test, accelerator, dtype, requested_batch_size, batch_size,
    machine_id, optimizer, loss, matmul_precision, workload, backend, variant, status, ran, reason, failure_phase,
    latency_s, steady_n, verification_code, replicas_n, attempt, reproduce
FROM result_rows
WHERE /*filters*/
ORDER BY suite, model, test, variant, environment
