-- Grain: one row per (experiment_id, environment) whose newest measurement outside one run has a result.
SELECT experiment_id, environment
FROM result_rows
WHERE run_id <> $run_id AND status NOT IN ('not_run', 'skipped')
QUALIFY row_number() OVER (PARTITION BY experiment_id, environment ORDER BY run_started DESC, run_id) = 1
    AND status IN ('ok', 'verify_only')
