-- Grain: as view aa_pairs, of all runs but those that are compared. As in view noise_floors, pairs from before turns were judged
-- count only where the machine has no others that were measured alike.
SELECT machine_id, accelerator, threads, measured, policy, experiment_id, log_ratio, origin, run_id
FROM aa_pairs
WHERE NOT list_contains($runs::VARCHAR[], run_id) AND isfinite(log_ratio)
QUALIFY quiet OR NOT bool_or(quiet) OVER (PARTITION BY machine_id, accelerator, measured)
