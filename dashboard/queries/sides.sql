-- Grain: as macro speedups, for the shown run. The run is compared by `=`, which the macro's joins take over; a list of
-- runs would make them walk the whole store. An answer that only a later run has verified counts as that run found it.
SELECT r.* REPLACE (
    CASE WHEN r.ran AND r.verification_code IN ('VERIFIER_SKIPPED', 'VERIFIER_DIDNT_RUN') THEN coalesce((
        SELECT arg_max(c.verification_code, c.run_started)
        FROM result_rows AS c
        WHERE c.status = 'verify_only' AND c.experiment_id = r.experiment_id AND c.run_started > r.run_started
            AND c.environment IS NOT DISTINCT FROM r.environment AND c.machine_id IS NOT DISTINCT FROM r.machine_id
            AND c.torch IS NOT DISTINCT FROM r.torch AND c.torch_xla IS NOT DISTINCT FROM r.torch_xla
    ), r.verification_code) ELSE r.verification_code END AS verification_code
)
FROM speedups(
    $baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR
) AS r
WHERE /*filters*/
ORDER BY test, accelerator, suite, model, variant, environment
