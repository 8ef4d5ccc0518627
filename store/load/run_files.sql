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
