-- Grain: as view aa_pairs, of all runs but those that are compared.
SELECT machine_id, experiment_id, log_ratio, origin, run_id
FROM aa_pairs
WHERE NOT list_contains($runs::VARCHAR[], run_id)
