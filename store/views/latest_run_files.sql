-- Grain: one row per run_id that has a run.json; of copies in several places the last path counts.
CREATE OR REPLACE VIEW latest_run_files AS
SELECT *
FROM run_files
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY path DESC) = 1;
