-- Grain: one row per run_id × suite × test × accelerator × backend × variant × environment.
-- Where the plan is not known, the rows of the file are the denominator.
CREATE OR REPLACE VIEW run_status AS
SELECT
    run_id,
    any_value(run_label) AS run_label,
    any_value(run_started) AS run_started,
    any_value(plan_known) AS plan_known,
    suite, test, accelerator, backend, variant, environment,
    any_value(accelerator_model) AS accelerator_model,
    count(*) AS planned_n,
    count(*) FILTER (status = 'skipped') AS skipped_n,
    count(*) FILTER (status <> 'skipped') AS runnable_n,
    count(*) FILTER (ran) AS ran_n,
    count(*) FILTER (status = 'verify_only') AS verify_only_n,
    count(*) FILTER (status = 'never_steady') AS never_steady_n,
    count(*) FILTER (status = 'disturbed') AS disturbed_n,
    count(*) FILTER (status = 'invalid') AS invalid_n,
    count(*) FILTER (is_failed(ran, status)) AS failed_n,
    count(*) FILTER (status = 'load_error') AS load_error_n,
    count(*) FILTER (status = 'compile_error') AS compile_error_n,
    count(*) FILTER (status = 'run_error') AS run_error_n,
    count(*) FILTER (ran AND verification_code = 'FAIL') AS wrong_n,
    count(*) FILTER (status = 'timeout') AS timeout_n,
    count(*) FILTER (status = 'oom') AS oom_n,
    count(*) FILTER (status = 'crashed') AS crashed_n,
    count(*) FILTER (status = 'not_run') AS not_run_n,
    count(*) FILTER (ran OR status = 'verify_only') AS answered_n,
    count(*) FILTER ((ran OR status = 'verify_only') AND verification_code = 'PASS') AS verified_n,
    coalesce(bool_or(is_checked(verification_code)), false) AS verify_asked
FROM result_rows
GROUP BY run_id, suite, test, accelerator, backend, variant, environment;
