-- Grain: as macro speedups.
SELECT * EXCLUDE (result_id, settings_id, suite_series_id)
FROM speedups(
    $baseline_backend::VARCHAR,
    $baseline_run::VARCHAR,
    runs := CASE WHEN len($run::VARCHAR[]) > 0 THEN $run::VARCHAR[] END
)
WHERE /*filters*/
ORDER BY run_started DESC, run_id, suite, model, test, variant, environment
