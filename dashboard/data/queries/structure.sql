-- Grain: as macro structural_differences, from run $a to run $b, or between two environments or two backends.
SELECT
    suite, model, test, accelerator, backend, variant, environment, experiment_id, kind, graphs_a, graphs_b, ops_a,
    ops_b, fusions_a, fusions_b, flops_a, flops_b, bytes_accessed_a, bytes_accessed_b, changed_n, op_changes
FROM structural_differences(
    $a::VARCHAR,
    $b::VARCHAR,
    environment_a := $environment_a::VARCHAR,
    environment_b := $environment_b::VARCHAR,
    variant_a := $variant_a::VARCHAR,
    variant_b := $variant_b::VARCHAR
)
ORDER BY suite, model, test, variant, environment, kind
