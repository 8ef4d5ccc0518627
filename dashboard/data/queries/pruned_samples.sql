-- Grain: one row: when samples of the shown run left the index (`xlabench prune`); NULL where all are there.
SELECT max(pruned_at) AS pruned_at
FROM records
WHERE run_id = $run AND pruned_at IS NOT NULL
