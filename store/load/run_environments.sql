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
