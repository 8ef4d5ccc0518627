-- Grain: one row per series without the model, of the shown run: how many of its models came how far, and what compiling
-- cost the valid ones (no disturbed result, no wrong answer). The keys are those of macro geomeans. Of several reasons that
-- are as frequent, the first of the alphabet is the main one; `main_reason_n` results have it. Functions of lists take half of the time of the aggregates that say the same.
SELECT
    suite, test, accelerator, accelerator_model, machine_id, environment, dtype, requested_batch_size,
    optimizer, loss, matmul_precision, workload, backend, variant,
    count(*) AS results_n,
    count(*) FILTER (ran) AS measured_n,
    count(*) FILTER (status = 'skipped') AS skipped_n,
    count(*) FILTER (status = 'verify_only') AS verify_only_n,
    count(*) FILTER (status = 'never_steady') AS never_steady_n,
    count(*) FILTER (status = 'disturbed') AS disturbed_n,
    count(*) FILTER (status = 'not_run') AS not_run_n,
    count(*) FILTER (is_failed(ran, status)) AS failed_n,
    count(*) FILTER (is_checked(verification_code)) AS checked_n,
    count(*) FILTER (verification_code = 'PASS') AS right_n,
    count(*) FILTER (ran AND NOT valid) AS wrong_n,
    list_median(list(first_iteration_s) FILTER (valid)) AS first_iteration_s,
    count(first_iteration_s) FILTER (valid) AS first_iteration_n,
    list_median(list(compiler_time_s) FILTER (valid)) AS compiler_time_s,
    count(compiler_time_s) FILTER (valid) AS compiler_time_n,
    coalesce(len(list_distinct(list(model) FILTER (fallback_ops_n > 0))), 0) AS fallback_models_n,
    coalesce(len(list_distinct(list(model) FILTER (fallback_ops_n IS NOT NULL))), 0) AS fallback_known_n,
    list_mode(list_sort(list(reason) FILTER (NOT ran))) AS main_reason,
    len(list_filter(list(reason) FILTER (NOT ran), lambda reason: reason = main_reason)) AS main_reason_n
FROM (SELECT *, is_valid(ran, verification_code) AS valid FROM result_rows WHERE /*filters*/)
GROUP BY ALL
ORDER BY test, accelerator, suite, backend, variant, environment, dtype
