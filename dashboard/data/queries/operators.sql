-- Grain: as macro operator_speedups, for the shown run; $named narrows it to one operator.
SELECT *
FROM operator_speedups(
    $baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR
)
WHERE ($named::VARCHAR IS NULL OR operator = $named) AND /*filters*/
ORDER BY operator, model, test, accelerator, variant, environment
