-- Grain: one row per run; `month` of its start (UTC) names the partition that its files lie in.
SELECT run_id, coalesce(strftime(min(started), '%Y-%m'), 'unknown') AS month
FROM (SELECT run_id, run_started AS started FROM records UNION ALL SELECT run_id, started FROM run_files)
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
GROUP BY run_id
ORDER BY run_id
