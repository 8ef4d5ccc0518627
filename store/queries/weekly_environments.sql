-- Grain: one row per environment of the runs $runs, with what its run.json says of it; of a run without one, what its
-- records say.
SELECT e.run_id, e.environment, e.facts
FROM run_environments AS e
JOIN latest_run_files AS f ON f.path = e.path
WHERE e.run_id IN (SELECT unnest($runs::VARCHAR[]))
UNION ALL
SELECT
    run_id, coalesce(environment, 'default'),
    json_object('torch', any_value(torch), 'torch_xla', any_value(torch_xla))
FROM result_rows
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND NOT plan_known
GROUP BY ALL
ORDER BY ALL
