-- Grain: one row per run, the oldest first: whether every planned experiment has a record, and when it was ingested last.
SELECT run_id, coalesce(run_label, run_id) AS label, run_started AS started, complete, ingested_at, torch, torch_xla
FROM runs
ORDER BY run_started, run_id
