-- Queries of page Compare.

-- name: axes
-- Grain: one row per environment and per variant that ran in the shown run, where it has several of the kind.
SELECT kind, name
FROM (
    SELECT DISTINCT 'environment' AS kind, environment AS name FROM result_rows WHERE run_id = $run AND ran
    UNION ALL
    SELECT DISTINCT 'backend', variant FROM result_rows WHERE run_id = $run AND ran
)
WHERE name IS NOT NULL
QUALIFY count(*) OVER (PARTITION BY kind) > 1
ORDER BY kind DESC, name

-- name: dropped
-- Grain: as view dropped: one row per label and series that its newest run does not plan, over the filtered series.
SELECT
    run_label, suite, model, test, accelerator, backend, variant, environment, machine_id, dtype, requested_batch_size,
    seen_n, missing_n, last_run_id, last_started, last_status, newest_run_id, newest_started, series_id
FROM dropped
WHERE /*filters without run*/
ORDER BY missing_n, run_label, suite, model, test, variant

-- name: facts_that_differ
-- Grain: as macro what_differs, from run $a to run $b.
SELECT scope, environment, field, value_a, value_b
FROM what_differs($a::VARCHAR, $b::VARCHAR)
ORDER BY scope, environment NULLS FIRST, field

-- name: structure
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

-- name: program_files
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

-- name: history_one
-- Grain: one row per run of the series $series, the newest 60.
SELECT
    series_id, epoch, run_id, run_label, run_started, variant, backend, status, ran, latency_s, latency_low_s,
    latency_high_s, steady_n, reason, valid, measured, batch_size, threads, iterations_per_run, start, policy
FROM history
WHERE series_id = $series
ORDER BY run_started DESC, run_id
LIMIT 60
