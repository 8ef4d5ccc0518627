-- Grain: one row per (run_id, experiment_id, environment, replica): the records of the attempt that is shown.
-- That is the newest attempt in which every runnable member of the group has a record; without such, the newest
-- attempt of the experiment.
WITH group_size AS (
    SELECT run_id, group_id, count(*) AS members_n
    FROM planned
    WHERE skip_reason IS NULL
    GROUP BY run_id, group_id
),
complete AS (
    SELECT p.run_id, p.group_id, r.attempt
    FROM planned AS p
    JOIN benchmark_records AS r ON r.run_id = p.run_id AND r.result_id = p.result_id
    JOIN group_size AS g ON g.run_id = p.run_id AND g.group_id = p.group_id
    WHERE p.skip_reason IS NULL
    GROUP BY p.run_id, p.group_id, r.attempt, g.members_n
    HAVING count(DISTINCT p.result_id) = g.members_n
),
newest_complete AS (
    SELECT run_id, group_id, max(attempt) AS attempt
    FROM complete
    GROUP BY run_id, group_id
)
SELECT r.*, c.attempt IS NOT NULL AS group_complete
FROM benchmark_records AS r
LEFT JOIN planned AS p ON p.run_id = r.run_id AND p.result_id = r.result_id
LEFT JOIN newest_complete AS c ON c.run_id = p.run_id AND c.group_id = p.group_id AND p.skip_reason IS NULL
QUALIFY r.attempt = coalesce(
    c.attempt,
    max(r.attempt) OVER (PARTITION BY r.run_id, r.result_id)
)
