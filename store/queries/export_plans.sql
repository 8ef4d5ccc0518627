-- Grain: one row per run that has a run.json (of copies in several places the last path), with what the index keeps of
-- it: the file's path, its environments, and its plan in the order of the file.
SELECT
    f.path, f.run_id, f.label, f.command, epoch_us(f.started) / 1e6 AS started, f.plan_id, f.settings::VARCHAR AS settings,
    (SELECT list(e.facts::VARCHAR ORDER BY e.rowid) FROM run_environments AS e WHERE e.path = f.path) AS environments,
    (
        SELECT list({
            'experiment_id': p.experiment_id, 'environment': p.environment, 'group': p.group_id, 'variant': p.variant,
            'backend': p.backend, 'skip_reason': p.skip_reason, 'suite_name': p.suite, 'model_name': p.model,
            'test': p.test, 'accelerator': p.accelerator, 'dtype': p.dtype, 'batch_size': p.requested_batch_size,
            'optimizer': p.optimizer, 'loss': p.loss, 'matmul_precision': p.matmul_precision, 'cache': p.cache,
            'workload': p.workload
        } ORDER BY p.rowid)
        FROM plan_entries AS p
        WHERE p.path = f.path
    ) AS plan
FROM run_files AS f
WHERE f.run_id IN (SELECT unnest($runs::VARCHAR[]))
QUALIFY row_number() OVER (PARTITION BY f.run_id ORDER BY f.path DESC) = 1
ORDER BY f.run_id
