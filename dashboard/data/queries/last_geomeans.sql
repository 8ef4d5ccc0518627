-- Grain: as macro geomeans, for the runs $runs, over the filtered models. One query for the shown run and those before it: most
-- of what it takes is its plan.
SELECT *
FROM geomeans(
    $baseline_backend::VARCHAR,
    $point::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    runs := $runs::VARCHAR[],
    baseline_accelerator := $baseline_accelerator::VARCHAR,
    clean_of := $only::VARCHAR[]
)
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
    AND (len($suite::VARCHAR[]) = 0 OR list_contains($suite::VARCHAR[], suite))
    AND (len($backend::VARCHAR[]) = 0 OR list_contains($backend::VARCHAR[], backend))
    AND (len($test::VARCHAR[]) = 0 OR list_contains($test::VARCHAR[], test))
    AND (len($accelerator::VARCHAR[]) = 0 OR list_contains($accelerator::VARCHAR[], accelerator))
    AND (len($dtype::VARCHAR[]) = 0 OR list_contains($dtype::VARCHAR[], dtype))
ORDER BY run_started, run_id, test, accelerator, suite, variant, environment
