-- Grain: one row per result of the shown run that was planned to be measured, with what tells how far it can be believed.
-- An answer that only a later run has verified, as after a first look, counts as that run found it.
SELECT
    suite, model, test, accelerator, dtype, backend, variant, environment, status, ran,
    CASE WHEN r.ran AND r.verification_code IN ('VERIFIER_SKIPPED', 'VERIFIER_DIDNT_RUN') THEN coalesce(
        later_check(r.experiment_id, r.environment, r.machine_id, r.torch, r.torch_xla, r.run_started), r.verification_code
    ) ELSE r.verification_code END AS verification_code
FROM result_rows AS r
WHERE status <> 'skipped' AND /*filters*/
