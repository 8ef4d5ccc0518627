-- Grain: as view run_status.
SELECT *
FROM run_status
WHERE (len($suite::VARCHAR[]) = 0 OR list_contains($suite::VARCHAR[], suite))
    AND (len($backend::VARCHAR[]) = 0 OR list_contains($backend::VARCHAR[], backend))
    AND (len($test::VARCHAR[]) = 0 OR list_contains($test::VARCHAR[], test))
    AND (len($accelerator::VARCHAR[]) = 0 OR list_contains($accelerator::VARCHAR[], accelerator))
    AND (len($run::VARCHAR[]) = 0 OR list_contains($run::VARCHAR[], run_id))
ORDER BY run_started DESC, run_id, suite, test, accelerator, variant, environment
