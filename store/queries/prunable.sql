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
