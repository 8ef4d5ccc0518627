-- Grain: one row per (run_id, experiment_id, environment), benchmark purpose only, newest complete attempt, replicas
-- pooled. Planned experiments without a record stand here as 'not_run' or 'skipped'. Latencies are seconds per iteration.
CREATE OR REPLACE VIEW results AS
SELECT s.*, r.record
FROM result_rows AS s
LEFT JOIN records AS r ON r.record_id = s.record_id;
