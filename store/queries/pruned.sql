-- Grain: one row per run of $runs of which samples were pruned (`xlabench prune`), with the newest time of that.
SELECT run_id, max(pruned_at) AS pruned_at
FROM records
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND pruned_at IS NOT NULL
GROUP BY run_id
ORDER BY run_id
