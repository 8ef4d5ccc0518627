-- Grain: as view operator_totals, for the shown run; the filters of backend and accelerator choose among its rows.
SELECT *
FROM operator_totals
WHERE run_id = $run
    AND (len($backend::VARCHAR[]) = 0 OR list_contains($backend::VARCHAR[], backend))
    AND (len($accelerator::VARCHAR[]) = 0 OR list_contains($accelerator::VARCHAR[], accelerator))
ORDER BY of_model, of_test, accelerator, variant, environment
