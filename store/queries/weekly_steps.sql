-- Grain: as macro geomean_steps, of the runs $run, over the models that are asked for.
SELECT *
FROM geomean_steps(
    $baseline_backend::VARCHAR,
    $baseline_run::VARCHAR,
    $run::VARCHAR[],
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END
)
WHERE /*filters without model*/
ORDER BY run_id, suite, test, accelerator, variant, environment
