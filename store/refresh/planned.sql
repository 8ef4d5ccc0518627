-- Grain: one row per (run_id, experiment_id, environment) of the plan of a stale run, with the environment's facts.
CREATE OR REPLACE TEMP TABLE planned AS
WITH environments AS (
    SELECT *, json_extract_string(facts, '$.cpu') AS cpu FROM run_environments
)
SELECT
    p.run_id, p.experiment_id, p.environment, result_of(p.run_id, p.experiment_id, p.environment) AS result_id,
    p.group_id, p.suite, p.model, p.test, p.backend, p.variant,
    p.accelerator, p.dtype, p.requested_batch_size, p.optimizer, p.loss, p.matmul_precision, p.workload, p.cache,
    p.skip_reason, e.torch, e.torch_xla, e.host, e.machine_id,
    CASE WHEN p.accelerator = 'cpu' THEN coalesce(e.cpu, e.accelerator_model)
        ELSE e.accelerator_model END AS accelerator_model,
    e.threads
FROM plan_entries AS p
JOIN latest_run_files AS f ON f.path = p.path
LEFT JOIN environments AS e ON e.path = p.path AND e.environment = p.environment
WHERE p.run_id IN (SELECT run_id FROM stale_now)
    AND is_stale(result_of(p.run_id, p.experiment_id, p.environment))
QUALIFY row_number() OVER (PARTITION BY p.run_id, p.experiment_id, p.environment ORDER BY p.group_id) = 1;
