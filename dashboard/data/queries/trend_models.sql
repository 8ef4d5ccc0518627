-- Grain: one row per model that the runs $runs planned for one suite, test and accelerator.
SELECT DISTINCT model
FROM result_rows
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
    AND suite = $of_suite AND test = $of_test AND accelerator = $of_accelerator AND status <> 'skipped'
    AND (len($model::VARCHAR[]) = 0 OR list_contains($model::VARCHAR[], model))
ORDER BY lower(model), model
