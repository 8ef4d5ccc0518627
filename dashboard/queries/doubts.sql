-- Grain: one row per result of the shown run that was planned to be measured, with what tells how far it can be believed.
-- An answer that only a later run has verified, as after a first look, counts as that run found it.
SELECT
    suite, model, test, accelerator, dtype, backend, variant, environment, status, ran,
    CASE WHEN r.ran AND r.verification_code IN ('VERIFIER_SKIPPED', 'VERIFIER_DIDNT_RUN') THEN coalesce((
        SELECT arg_max(c.verification_code, c.run_started)
        FROM result_rows AS c
        WHERE c.status = 'verify_only' AND c.experiment_id = r.experiment_id AND c.run_started > r.run_started
            AND c.environment IS NOT DISTINCT FROM r.environment AND c.machine_id IS NOT DISTINCT FROM r.machine_id
            AND c.torch IS NOT DISTINCT FROM r.torch AND c.torch_xla IS NOT DISTINCT FROM r.torch_xla
    ), r.verification_code) ELSE r.verification_code END AS verification_code
FROM result_rows AS r
WHERE status <> 'skipped' AND /*filters*/
