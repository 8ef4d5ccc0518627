-- Grain: one row per result of the shown run that was planned to be measured, with what tells how far it can be believed.
SELECT suite, model, test, accelerator, dtype, backend, variant, environment, status, ran, verification_code
FROM result_rows
WHERE status <> 'skipped' AND /*filters*/
