-- Grain: as macro speedups, for the shown run. The run is compared by `=`, which the macro's joins take over; a list of
-- runs would make them walk the whole store. An answer that only a later run has verified counts as that run found it.
SELECT r.* REPLACE (
    CASE WHEN r.ran AND r.verification_code IN ('VERIFIER_SKIPPED', 'VERIFIER_DIDNT_RUN') THEN coalesce(
        later_check(r.experiment_id, r.environment, r.machine_id, r.torch, r.torch_xla, r.run_started), r.verification_code
    ) ELSE r.verification_code END AS verification_code
)
FROM speedups(
    $baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR
) AS r
WHERE /*filters*/
ORDER BY test, accelerator, suite, model, variant, environment
