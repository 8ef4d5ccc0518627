-- Queries of series' change points and marks, and of samples that `xlabench prune` may drop.

-- name: series_points
-- Grain: one row per valid result of a stale series, of each of its epochs and ways to measure (macro measured_as) the newest
-- $last_n, oldest first; those of fewer than $min_n results are left out. Where a record does not say how threads waited,
-- its `policy` is that of the run before, else of the first that says so, but none that names variables.
WITH known AS (
    SELECT *, CASE WHEN variables_of_policy(policy) = '' THEN policy END AS usual
    FROM result_rows
),
points AS (
    SELECT
        r.series_id, r.run_id, r.run_started, r.latency_s,
        epoch_at(e.begins, r.run_started) AS epoch,
        measured_as(r.batch_size, r.threads, r.iterations_per_run, r.start, r.instrumented) AS measured,
        coalesce(
            r.policy,
            last_value(r.usual IGNORE NULLS) OVER (PARTITION BY r.series_id ORDER BY r.run_started, r.run_id),
            first_value(r.usual IGNORE NULLS) OVER (
                PARTITION BY r.series_id ORDER BY r.run_started, r.run_id
                ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING
            )
        ) AS policy
    FROM known AS r
    LEFT JOIN epochs AS e ON e.series_id = r.series_id
    WHERE r.series_id IN (SELECT series_id FROM stale_series)
        AND is_valid(r.ran, r.verification_code) AND r.latency_s > 0
)
SELECT series_id, epoch, measured, policy, run_id, run_started, latency_s
FROM points
QUALIFY row_number() OVER (
        PARTITION BY series_id, epoch, measured, policy ORDER BY run_started DESC, run_id DESC
    ) <= $last_n
    AND count(*) OVER (PARTITION BY series_id, epoch, measured, policy) >= $min_n
ORDER BY series_id, epoch, measured, policy, run_started, run_id

-- name: marked_series
-- Grain: one row per mark and series that it names.
SELECT r.series_id, m.mark_id, m.marked_at
FROM (
    SELECT DISTINCT
        series_id, suite, model, test, backend, variant, environment, accelerator, accelerator_model, machine_id
    FROM result_rows
    WHERE EXISTS (SELECT 1 FROM marks)
) AS r
JOIN marks AS m
    ON (m.suite IS NULL OR m.suite = r.suite)
    AND (m.model IS NULL OR m.model = r.model)
    AND (m.test IS NULL OR m.test = r.test)
    AND (m.backend IS NULL OR m.backend = r.backend)
    AND (m.variant IS NULL OR m.variant = r.variant)
    AND (m.environment IS NULL OR m.environment = r.environment)
    AND (m.accelerator IS NULL OR m.accelerator = r.accelerator)
    AND (m.accelerator_model IS NULL OR m.accelerator_model = r.accelerator_model)
    AND (m.machine_id IS NULL OR m.machine_id = r.machine_id)

-- name: prunable
-- Grain: one row per run with records: what it is, how many samples the index has of it, and the files that hold them.
WITH files AS (
    SELECT run_id, list(DISTINCT path ORDER BY path) AS paths
    FROM run_sources
    GROUP BY run_id
),
labels AS (
    SELECT run_id, max_by(label, path) AS label
    FROM run_files
    GROUP BY run_id
)
SELECT
    r.run_id,
    coalesce(any_value(l.label), any_value(r.run_label), r.run_id) AS label,
    list(DISTINCT r.purpose ORDER BY r.purpose) AS purposes,
    max(coalesce(r.finished_at, r.run_started)) AS finished,
    count(*) AS records_n,
    coalesce(sum(len(r.block_total_s)), 0)::BIGINT AS samples_n,
    any_value(f.paths) AS paths
FROM records AS r
LEFT JOIN labels AS l ON l.run_id = r.run_id
LEFT JOIN files AS f ON f.run_id = r.run_id
GROUP BY r.run_id
ORDER BY finished, r.run_id

-- name: pruned
-- Grain: one row per run of $runs of which samples were pruned (`xlabench prune`), with the newest time of that.
SELECT run_id, max(pruned_at) AS pruned_at
FROM records
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND pruned_at IS NOT NULL
GROUP BY run_id
ORDER BY run_id
