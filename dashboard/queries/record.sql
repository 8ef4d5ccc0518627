-- Grain: one row, the record of one experiment of a run as its line was read.
SELECT record, reproduce, warnings
FROM results
WHERE run_id = $run AND experiment_id = $experiment AND environment IS NOT DISTINCT FROM $environment
LIMIT 1
