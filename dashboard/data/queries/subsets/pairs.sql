-- Names that hide those of the snapshot, over the tables of `means.sql` or `speedups.sql`. They have the same rows, for
-- these runs and this baseline alone, so `baseline_backend`, `baseline_run`, `point` and `device` select nothing further.
CREATE TEMP VIEW result_rows AS
SELECT * FROM speedup_rows;

CREATE TEMP MACRO speedups(baseline_backend, baseline_run, baseline_accelerator := NULL, runs := NULL, models := NULL) AS
TABLE
SELECT *
FROM speedup_rows
WHERE (runs IS NULL OR list_contains(runs::VARCHAR[], run_id))
    AND (models IS NULL OR list_contains(models::VARCHAR[], model));

CREATE TEMP MACRO baselines(baseline_backend, point, device, runs, models := NULL) AS TABLE
SELECT *
FROM baseline_rows
WHERE models IS NULL OR list_contains(models::VARCHAR[], model);
