-- Grain: one row per series without the model, of the shown run: how many of its models came how far, and what compiling
-- cost them. The keys are those of macro geomeans.
SELECT
    suite, test, accelerator, accelerator_model, machine_id, environment, dtype, requested_batch_size,
    optimizer, loss, matmul_precision, workload, backend, variant,
    count(*) AS results_n,
    count(*) FILTER (ran) AS measured_n,
    count(*) FILTER (status = 'skipped') AS skipped_n,
    count(*) FILTER (status = 'verify_only') AS verify_only_n,
    count(*) FILTER (status = 'never_steady') AS never_steady_n,
    count(*) FILTER (status = 'not_run') AS not_run_n,
    count(*) FILTER (NOT ran AND status NOT IN ('skipped', 'verify_only', 'never_steady', 'not_run')) AS failed_n,
    count(*) FILTER (verification_code NOT IN ('VERIFIER_SKIPPED', 'VERIFIER_DIDNT_RUN')) AS checked_n,
    count(*) FILTER (verification_code = 'PASS') AS right_n,
    median(first_iteration_s) AS first_iteration_s,
    count(first_iteration_s) AS first_iteration_n,
    median(compiler_time_s) AS compiler_time_s,
    count(compiler_time_s) AS compiler_time_n,
    count(DISTINCT model) FILTER (fallback_ops_n > 0) AS fallback_models_n,
    count(DISTINCT model) FILTER (fallback_ops_n IS NOT NULL) AS fallback_known_n,
    mode(reason) FILTER (NOT ran) AS main_reason
FROM result_rows
WHERE /*filters*/
GROUP BY ALL
ORDER BY test, accelerator, suite, backend, variant, environment
