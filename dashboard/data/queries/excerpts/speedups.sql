-- The results of the run $run with their baselines, for queries that ask for the same pairs. As in `means`, what stands
-- here before the snapshot's own names has the same rows, for this run and this baseline alone.
CREATE TEMP TABLE speedup_rows AS
SELECT *
FROM speedups($baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR)
WHERE run_id = $run;

CREATE TEMP TABLE baseline_rows AS
SELECT
    run_key, suite, model, test, accelerator, settings_id, valid
FROM baselines($baseline_backend::VARCHAR, $baseline_run::VARCHAR, NULL, NULL);
