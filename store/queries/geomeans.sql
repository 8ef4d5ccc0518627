-- Grain: as macro geomeans, over the models that are asked for.
SELECT *
FROM geomeans(
    $baseline_backend::VARCHAR,
    $baseline_run::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    runs := CASE WHEN len($run::VARCHAR[]) > 0 THEN $run::VARCHAR[] END
)
WHERE /*filters without model*/
ORDER BY run_started DESC, run_id, suite, test, accelerator, variant, environment
