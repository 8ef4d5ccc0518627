-- Grain: as view dropped: one row per label and series that its newest run does not plan, over the filtered series.
SELECT
    run_label, suite, model, test, accelerator, backend, variant, environment, machine_id, dtype, requested_batch_size,
    seen_n, missing_n, last_run_id, last_started, last_status, newest_run_id, newest_started, series_id
FROM dropped
WHERE (len($suite::VARCHAR[]) = 0 OR list_contains($suite::VARCHAR[], suite))
    AND (len($model::VARCHAR[]) = 0 OR list_contains($model::VARCHAR[], model))
    AND (len($backend::VARCHAR[]) = 0 OR list_contains($backend::VARCHAR[], backend))
    AND (len($test::VARCHAR[]) = 0 OR list_contains($test::VARCHAR[], test))
    AND (len($accelerator::VARCHAR[]) = 0 OR list_contains($accelerator::VARCHAR[], accelerator))
    AND (len($dtype::VARCHAR[]) = 0 OR list_contains($dtype::VARCHAR[], dtype))
ORDER BY missing_n, run_label, suite, model, test, variant
