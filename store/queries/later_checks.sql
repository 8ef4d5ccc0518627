-- Grain: one row per result of the runs $runs that a later run has verified without timing it: see macro later_check.
SELECT
    run_id, experiment_id, environment,
    later_check(experiment_id, environment, machine_id, torch, torch_xla, run_started) AS code
FROM result_rows
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND ran AND code IS NOT NULL;
