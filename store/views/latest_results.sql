-- Grain: one row per series: its newest result from any run. Failures and skips are results; experiments that a run did
-- not reach are not. The columns are those of results without the record, and `epoch`, the number of users' marks
-- before it.
CREATE OR REPLACE VIEW latest_results AS
SELECT
    r.* EXCLUDE (result_id, settings_id, suite_series_id),
    coalesce(len(list_filter(e.begins, lambda begin: begin <= r.run_started)), 0)::INTEGER AS epoch
FROM result_rows AS r
LEFT JOIN epochs AS e ON e.series_id = r.series_id
WHERE r.rowid IN (
    SELECT arg_max(rowid, (run_started, run_id))
    FROM result_rows
    WHERE status <> 'not_run'
    GROUP BY series_id
);
