-- Grain: one row per run_id that has a run.json and is no calibration; if a run lies in several places, the last path
-- counts.
CREATE OR REPLACE VIEW latest_run_files AS
SELECT *
FROM run_files
WHERE coalesce(settings ->> '$.purpose', 'benchmark') = 'benchmark'
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY path DESC) = 1;
