-- Grain: as macro speedups, for the shown run. The run is compared by `=`, which the macro's joins take over; a list of
-- runs would make them walk the whole store.
SELECT * EXCLUDE (result_id, settings_id, suite_series_id)
FROM speedups(
    $baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END
)
WHERE /*filters*/
ORDER BY test, accelerator, suite, model, variant, environment
