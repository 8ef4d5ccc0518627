-- Grain: one row per process of an A/A control of run $run, with its original: as view aa_pairs.
SELECT machine_id, accelerator, measured, policy, experiment_id, environment, attempt, log_ratio, round_variance
FROM aa_pairs
WHERE run_id = $run AND origin = 'twin'
ORDER BY experiment_id, environment, attempt, first_id
