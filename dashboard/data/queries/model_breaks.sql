-- Grain: as view graph_breaks, for one experiment of a run.
SELECT reason, count
FROM graph_breaks
WHERE run_id = $run AND result_id = result_of($run, $experiment, $environment)
ORDER BY count DESC, reason
