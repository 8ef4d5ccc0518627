-- Statements that load the run.json of runs.

-- name: run_texts
-- Grain: one row per run.json of the relation `runs`, validated.
CREATE OR REPLACE TEMP TABLE run_texts AS
SELECT path, r
FROM (
    SELECT path, from_json(text, '{ReadRunFile}') AS r
    FROM runs
);

-- name: run_files
-- Grain: one row per run.json.
SELECT
    path,
    r.run.run_id AS run_id,
    coalesce(nullif(r.run.label, ''), r.run.run_id) AS label,
    coalesce(r.run.command, '') AS command,
    utc(r.timestamp) AS started,
    r.plan_id AS plan_id,
    coalesce(r.settings, '{}') AS settings
FROM run_texts;

-- name: run_environments
-- Grain: one row per environment of a run.json.
SELECT
    path,
    run_id,
    e.name AS environment,
    e.torch AS torch,
    e.torch_xla AS torch_xla,
    e.host AS host,
    e.machine_id AS machine_id,
    e.accelerator AS accelerator_model,
    e.threads AS threads,
    facts
FROM (
    SELECT path, run_id, facts, from_json(facts, '{ReadEnvironment}') AS e
    FROM (SELECT path, r.run.run_id AS run_id, unnest(r.environments) AS facts FROM run_texts)
);

-- name: plan_entries
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
