-- Grain: as hud_summary(baseline_backend, baseline_run), of one run.
SELECT *
FROM hud_summary($baseline_backend, $baseline_run)
WHERE run_id = $run AND /*filters without run model*/
ORDER BY suite, test, dtype, accelerator, variant, environment
