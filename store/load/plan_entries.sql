-- Grain: one row per planned experiment and environment of a run.json; a setting that is absent has its default.
SELECT
    path,
    run_id,
    p.experiment_id AS experiment_id,
    p.environment AS environment,
    p.group AS group_id,
    p.config.suite_name AS suite,
    p.config.model_name AS model,
    p.config.test AS test,
    p.backend AS backend,
    p.variant AS variant,
    p.config.accelerator AS accelerator,
    coalesce(p.config.dtype, 'float32') AS dtype,
    p.config.batch_size AS requested_batch_size,
    p.config.optimizer AS optimizer,
    p.config.loss AS loss,
    coalesce(p.config.matmul_precision, 'highest') AS matmul_precision,
    workload_of(p.config) AS workload,
    coalesce(p.config.cache, 'cold') AS cache,
    p.skip_reason AS skip_reason
FROM (SELECT path, r.run.run_id AS run_id, unnest(r.plan) AS p FROM run_texts);
