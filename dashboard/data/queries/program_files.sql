-- Grain: one row per text of a compiled program that the records of one configuration left in runs $a and $b.
SELECT
    CASE WHEN p.run_id = $b AND ($variant_b::VARCHAR IS NULL OR p.variant = $variant_b)
        AND ($environment_b::VARCHAR IS NULL OR p.environment = $environment_b) THEN 'b' ELSE 'a' END AS side,
    p.record_id, a.kind, a.path, regexp_replace(a.path, '^artifacts/[^/]*/', '') AS file
FROM records AS p
JOIN record_artifacts AS a ON a.record_id = p.record_id
WHERE p.suite = $of_suite AND p.model = $of_model AND p.test = $of_test AND p.accelerator = $of_accelerator
    AND a.kind IN ('hlo', 'ir', 'inductor')
    AND (
        (p.run_id = $a AND p.variant = coalesce($variant_a::VARCHAR, $of_variant)
            AND ($environment_a::VARCHAR IS NULL OR p.environment = $environment_a))
        OR (p.run_id = $b AND p.variant = coalesce($variant_b::VARCHAR, $of_variant)
            AND ($environment_b::VARCHAR IS NULL OR p.environment = $environment_b))
    )
ORDER BY side, a.kind, file, p.attempt DESC, p.replica
