-- Grain: as macro structural_differences, from run $last to run $now, on the accelerator $accelerator.
SELECT
    experiment_id, suite, model, test, variant, environment, kind, graphs_a, graphs_b, ops_a, ops_b, fusions_a, fusions_b,
    changed_n
FROM structural_differences($last::VARCHAR, $now::VARCHAR)
WHERE accelerator = $accelerator
ORDER BY suite, model, test, variant, environment, kind
