-- The results of the run $run with their baselines, for queries that ask for the same pairs. `pairs.sql` comes after it.
CREATE TEMP TABLE speedup_rows AS
SELECT *
FROM speedups($baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR)
WHERE run_id = $run;

CREATE TEMP TABLE baseline_rows AS
SELECT
    run_key, suite, model, test, accelerator, settings_id, valid
FROM baselines($baseline_backend::VARCHAR, $baseline_run::VARCHAR, $baseline_accelerator::VARCHAR, NULL);
