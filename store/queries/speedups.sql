-- Grain: as macro speedups.
SELECT *
FROM speedups(
    $baseline_backend::VARCHAR,
    $baseline_run::VARCHAR,
    runs := CASE WHEN len($run::VARCHAR[]) > 0 THEN $run::VARCHAR[] END
)
WHERE (len($suite::VARCHAR[]) = 0 OR list_contains($suite::VARCHAR[], suite))
    AND (len($model::VARCHAR[]) = 0 OR list_contains($model::VARCHAR[], model))
    AND (len($backend::VARCHAR[]) = 0 OR list_contains($backend::VARCHAR[], backend))
    AND (len($test::VARCHAR[]) = 0 OR list_contains($test::VARCHAR[], test))
    AND (len($accelerator::VARCHAR[]) = 0 OR list_contains($accelerator::VARCHAR[], accelerator))
    AND (len($dtype::VARCHAR[]) = 0 OR list_contains($dtype::VARCHAR[], dtype))
    AND (len($run::VARCHAR[]) = 0 OR list_contains($run::VARCHAR[], run_id))
ORDER BY run_started DESC, run_id, suite, model, test, variant, environment
