-- Grain: one row per result of the runs $run that has a speedup, the baseline's own left out. `measured` is the key of the
-- machine and of how it was measured (macro measured_as): speedups of two runs are compared only where it is equal.
SELECT
    run_id, experiment_id, coalesce(environment, 'default') AS environment, suite, test, variant, dtype,
    requested_batch_size, optimizer, loss, matmul_precision, workload, speedup, policy,
    to_json([
        machine_id, accelerator_model, measured_as(batch_size, threads, iterations_per_run, start, instrumented)
    ])::VARCHAR AS measured
FROM speedups($baseline_backend::VARCHAR, $baseline_run::VARCHAR, runs := $run::VARCHAR[])
WHERE speedup > 0 AND variant IS DISTINCT FROM baseline_variant AND /*filters*/
ORDER BY run_started DESC, run_id, suite, model, test, variant, environment
