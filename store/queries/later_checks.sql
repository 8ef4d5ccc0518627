-- Grain: one row per result of the runs $runs that a later run has verified without timing it (as after a first look): the same
-- experiment, environment, machine and versions; `code` is that of the newest such run.
SELECT r.run_id, r.experiment_id, r.environment, arg_max(c.verification_code, c.run_started) AS code
FROM result_rows AS r
JOIN result_rows AS c
    ON c.experiment_id = r.experiment_id AND c.environment IS NOT DISTINCT FROM r.environment
    AND c.machine_id IS NOT DISTINCT FROM r.machine_id AND c.torch IS NOT DISTINCT FROM r.torch
    AND c.torch_xla IS NOT DISTINCT FROM r.torch_xla
    AND c.status = 'verify_only' AND c.run_started > r.run_started
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[])) AND r.ran
GROUP BY r.run_id, r.experiment_id, r.environment;
