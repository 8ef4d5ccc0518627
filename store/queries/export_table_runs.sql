-- Grain: one row per run; `month` of its start (UTC) names the partition that its files lie in.
SELECT run_id, coalesce(strftime(min(started), '%Y-%m'), 'unknown') AS month
FROM (SELECT run_id, run_started AS started FROM records UNION ALL SELECT run_id, started FROM run_files)
WHERE list_contains($runs::VARCHAR[], run_id)
GROUP BY run_id
ORDER BY run_id
