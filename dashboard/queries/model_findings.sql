-- Grain: as view findings, for one experiment of a run.
SELECT code, text, next_step, processes_n
FROM findings
WHERE run_id = $run AND experiment_id = $experiment AND environment IS NOT DISTINCT FROM $environment
ORDER BY code
