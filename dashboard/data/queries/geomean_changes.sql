-- Grain: as macro geomean_changes, from the run $before to the shown one, over the filtered models.
SELECT *
FROM geomean_changes(
    $baseline_backend::VARCHAR,
    $baseline_point::VARCHAR,
    $before::VARCHAR,
    $run::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    baseline_accelerator := $baseline_accelerator::VARCHAR,
    clean_of := $only::VARCHAR[]
)
WHERE /*filters without run model*/
ORDER BY test, accelerator, suite, variant, environment
