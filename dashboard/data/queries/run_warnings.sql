-- Grain: one row per result of the shown run and warning of any of its processes (the attempt that is shown) that is no
-- finding: findings stand among a record's warnings, too.
WITH processes AS (
    SELECT r.suite, r.model, r.test, r.accelerator, r.variant, r.environment, p.record_id, p.warnings
    FROM (SELECT * FROM result_rows WHERE /*filters*/) AS r
    JOIN processes() AS p USING (run_id, result_id, attempt)
    WHERE len(p.warnings) > 0
),
said AS (
    SELECT * EXCLUDE (warnings), unnest(warnings) AS warning FROM processes
)
SELECT s.suite, s.model, s.test, s.accelerator, s.variant, s.environment, s.warning,
    count(DISTINCT s.record_id) AS processes_n
FROM said AS s
WHERE NOT EXISTS (
    SELECT 1 FROM record_findings AS f
    WHERE f.record_id = s.record_id AND s.warning = f.text || ': ' || f.next_step
)
GROUP BY ALL
ORDER BY s.suite, s.model, s.test, s.variant, s.environment, s.warning
