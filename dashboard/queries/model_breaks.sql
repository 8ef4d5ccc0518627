-- Grain: as view graph_breaks, for one experiment of a run.
SELECT reason, count
FROM graph_breaks
WHERE run_id = $run AND experiment_id = $experiment AND environment IS NOT DISTINCT FROM $environment
ORDER BY count DESC, reason
