-- Grain: as view results.
SELECT * EXCLUDE (result_id, settings_id, suite_series_id)
FROM result_rows
WHERE /*filters*/
ORDER BY run_started DESC, run_id, suite, model, test, variant, environment
