-- Grain: one row per result to be recomputed, of stale runs of which not all results are: results with a new record, and
-- all results of their groups, since which attempt is shown depends on the whole group.
CREATE OR REPLACE TEMP TABLE stale_results AS
WITH changed AS (
    SELECT DISTINCT result_id FROM stale_runs WHERE run_id IN (SELECT run_id FROM stale_now)
),
placed AS (
    -- The group of a result is the first of its groups, as in `planned`.
    SELECT p.run_id, result_of(p.run_id, p.experiment_id, p.environment) AS result_id, min(p.group_id) AS group_id
    FROM plan_entries AS p
    JOIN latest_run_files AS f ON f.path = p.path
    WHERE p.run_id IN (SELECT run_id FROM stale_now)
    GROUP BY ALL
)
SELECT result_id FROM changed
UNION
SELECT m.result_id
FROM placed AS c
JOIN placed AS m ON m.run_id = c.run_id AND m.group_id = c.group_id
WHERE c.result_id IN (SELECT result_id FROM changed);

CREATE OR REPLACE TEMP MACRO is_stale(of_result) AS of_result IN (SELECT result_id FROM stale_results);
