-- Grain: as view hud_rows, of one run.
SELECT * EXCLUDE (settings_id)
FROM hud_rows
WHERE run_id = $run AND /*filters without run*/
ORDER BY suite, test, dtype, accelerator, model, batch_size, variant, environment
