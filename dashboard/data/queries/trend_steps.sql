-- Grain: as macro geomean_steps, for the runs $runs, over the filtered models.
SELECT *
FROM geomean_steps(
    $baseline_backend::VARCHAR,
    $point::VARCHAR,
    $runs::VARCHAR[],
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    baseline_accelerator := $baseline_accelerator::VARCHAR,
    clean_of := $only::VARCHAR[]
)
WHERE /*filters without run model*/
ORDER BY run_id, test, accelerator, suite, variant, environment
