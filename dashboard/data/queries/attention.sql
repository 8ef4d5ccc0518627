-- Grain: one row per result of the shown run that needs a look; wrong answers first, then failures, what could not be
-- verified, disturbed, never steady, not run, slower.
-- Eager is a reference that is compiled by nothing: being slower than a compiler is no finding about it.
WITH judged AS (
    SELECT
        CASE
            WHEN status = 'skipped' THEN NULL
            WHEN verification_code = 'FAIL' THEN 'wrong answer'
            WHEN status = 'never_steady' THEN 'never steady'
            WHEN status = 'disturbed' THEN 'disturbed'
            WHEN status = 'not_run' THEN 'not run'
            WHEN NOT ran AND status <> 'verify_only' THEN 'failed'
            WHEN verification_code IN ('EAGER_FAILED', 'EXCEPTION_RAISED', 'NONDETERMINISTIC_EAGER_RUN')
                OR status = 'verify_only' AND verification_code = 'VERIFIER_DIDNT_RUN' THEN 'not verified'
            WHEN speedup_high < 1 AND backend <> 'eager' THEN 'slower than baseline'
        END AS finding,
        *
    FROM speedups($baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR)
    WHERE /*filters*/
)
SELECT
    run_id, experiment_id, finding, status, suite, model, test, accelerator, dtype, backend, variant, environment,
    failure_phase,
    CASE WHEN finding IN ('wrong answer', 'not verified') THEN 'verification ' || verification_code
        WHEN finding <> 'slower than baseline' THEN coalesce(reason, speedup_reason) END AS reason,
    speedup, speedup_low, speedup_high, latency_s, steady_n, baseline_latency_s, baseline_steady_n
FROM judged
WHERE finding IS NOT NULL
ORDER BY
    CASE finding WHEN 'wrong answer' THEN 0 WHEN 'failed' THEN 1 WHEN 'not verified' THEN 2
        WHEN 'disturbed' THEN 3 WHEN 'never steady' THEN 4 WHEN 'not run' THEN 5 ELSE 6 END,
    speedup, suite, model, test, variant
