-- Grain: as macro geomeans, for the shown run, over the filtered models.
SELECT *
FROM geomeans(
    $baseline_backend::VARCHAR,
    $baseline_run::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    baseline_accelerator := $baseline_accelerator::VARCHAR,
    clean_of := $only::VARCHAR[]
)
WHERE run_id = $run AND /*filters without run model*/
ORDER BY test, accelerator, suite, variant, environment
