-- Grain: as macro geomeans, for the shown run, over the filtered models.
SELECT *
FROM geomeans(
    $baseline_backend::VARCHAR,
    $baseline_run::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    baseline_accelerator := $baseline_accelerator::VARCHAR,
    clean_of := $only::VARCHAR[]
)
WHERE run_id = $run
    AND (len($suite::VARCHAR[]) = 0 OR list_contains($suite::VARCHAR[], suite))
    AND (len($backend::VARCHAR[]) = 0 OR list_contains($backend::VARCHAR[], backend))
    AND (len($test::VARCHAR[]) = 0 OR list_contains($test::VARCHAR[], test))
    AND (len($accelerator::VARCHAR[]) = 0 OR list_contains($accelerator::VARCHAR[], accelerator))
    AND (len($dtype::VARCHAR[]) = 0 OR list_contains($dtype::VARCHAR[], dtype))
ORDER BY test, accelerator, suite, variant, environment
