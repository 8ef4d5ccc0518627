-- Grain: one row per confirming run after $since × environment, with what it says of the environment; the newest run first.
SELECT c.run_id, c.started, e.environment, e.facts
FROM (
    SELECT run_id, any_value(run_started) AS started
    FROM records
    WHERE purpose = 'confirmation' AND run_started >= $since
    GROUP BY run_id
) AS c
JOIN (SELECT DISTINCT run_id, environment, facts FROM run_environments) AS e USING (run_id)
ORDER BY c.started DESC, c.run_id, e.environment
