-- Grain: as macro what_differs, from run $a to run $b.
SELECT scope, environment, field, value_a, value_b
FROM what_differs($a::VARCHAR, $b::VARCHAR)
ORDER BY scope, environment NULLS FIRST, field
