-- Grain: one row per (run_id, experiment_id, environment), benchmark purpose only, newest complete attempt, replicas
-- pooled. Planned experiments without a record appear as 'not_run' or 'skipped'. Latencies are seconds per iteration.
CREATE OR REPLACE VIEW results AS
SELECT s.* EXCLUDE (result_id, settings_id, suite_series_id), r.record
FROM result_rows AS s
-- A record is of its result's run; said so, a query of one run leaves the text of all others unread.
LEFT JOIN records AS r ON r.record_id = s.record_id AND r.run_id = s.run_id;
