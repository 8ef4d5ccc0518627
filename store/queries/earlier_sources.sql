-- Grain: one row per model of suite `own` in the runs $runs whose name an earlier run has with another hash: `earlier` is the
-- newest of these names, `before_started` when it was measured last.
WITH named AS (
    SELECT DISTINCT model, split_part(model, '@', 1) AS title, run_id, run_started
    FROM result_rows
    WHERE suite = 'own' AND status <> 'not_run'
),
shown AS (
    SELECT model, title, min(run_started) AS run_started
    FROM named
    WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
    GROUP BY model, title
)
SELECT s.model, arg_max(b.model, (b.run_started, b.model)) AS earlier, max(b.run_started) AS before_started
FROM shown AS s
JOIN named AS b ON b.title = s.title AND b.model <> s.model AND b.run_started < s.run_started
GROUP BY s.model
ORDER BY s.model;
