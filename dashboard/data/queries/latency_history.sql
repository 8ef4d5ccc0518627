-- Grain: one row per experiment × environment that at least two of the runs $runs have measured: its latencies in seconds,
-- from the oldest run on.
SELECT experiment_id, environment, list(latency_s ORDER BY run_started, run_id) AS trend
FROM result_rows
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND latency_s IS NOT NULL
GROUP BY experiment_id, environment
HAVING count(*) > 1
ORDER BY experiment_id, environment
