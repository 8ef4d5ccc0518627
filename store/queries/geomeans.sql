-- Grain: as macro geomeans, over the models that are asked for.
SELECT *
FROM geomeans(
    $baseline_backend::VARCHAR,
    $baseline_run::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    runs := CASE WHEN len($run::VARCHAR[]) > 0 THEN $run::VARCHAR[] END
)
WHERE (len($suite::VARCHAR[]) = 0 OR list_contains($suite::VARCHAR[], suite))
    AND (len($backend::VARCHAR[]) = 0 OR list_contains($backend::VARCHAR[], backend))
    AND (len($test::VARCHAR[]) = 0 OR list_contains($test::VARCHAR[], test))
    AND (len($accelerator::VARCHAR[]) = 0 OR list_contains($accelerator::VARCHAR[], accelerator))
    AND (len($dtype::VARCHAR[]) = 0 OR list_contains($dtype::VARCHAR[], dtype))
    AND (len($run::VARCHAR[]) = 0 OR list_contains($run::VARCHAR[], run_id))
ORDER BY run_started DESC, run_id, suite, test, accelerator, variant, environment
