-- Statements that make the tables of a subset of the runs: `dashboard/data/run_subsets.py`.

-- name: subset_speedups
-- The results of the run $run with their baselines, for queries that ask for the same pairs. `pairs.sql` comes after it.
CREATE TEMP TABLE speedup_rows AS
SELECT *
FROM speedups($baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR)
WHERE run_id = $run;

CREATE TEMP TABLE baseline_rows AS
SELECT
    run_key, suite, model, test, accelerator, settings_id, valid
FROM baselines($baseline_backend::VARCHAR, $baseline_run::VARCHAR, $baseline_accelerator::VARCHAR, NULL);

-- name: subset_means
-- The results of the runs $runs with their baselines, for the macros that take means over some of their models.
-- `pairs.sql` and `models.sql` come after it.
CREATE TEMP TABLE suite_series_rows AS
SELECT * FROM suite_series_names($runs::VARCHAR[]);

CREATE TEMP TABLE speedup_rows AS
SELECT
    run_id, run_label, run_started, plan_known, series_id, settings_id, suite_series_id, suite, model, test, accelerator,
    backend, status, ran, valid, verification_code, batch_size, threads, iterations_per_run, start, instrumented, policy,
    latency_s, fallback_ops_n, graph_breaks_n, speedup, baseline_run_id, baseline_status, baseline_latency_s,
    baseline_epoch, baseline_valid, cross_device
FROM speedups(
    $baseline_backend::VARCHAR, $point::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR,
    runs := $runs::VARCHAR[]
);

CREATE TEMP TABLE baseline_rows AS
SELECT
    run_key, suite, model, test, accelerator, settings_id, valid
FROM baselines($baseline_backend::VARCHAR, $point::VARCHAR, $baseline_accelerator::VARCHAR, $runs::VARCHAR[]);

-- name: subset_fallbacks
-- The results of the run $run with their fallback ops, what lowering them was measured to pay, and their graph breaks, for
-- the queries of page Fallback ops.
CREATE TEMP TABLE run_rows AS
SELECT run_id, record_id, suite, model, test, backend, accelerator, dtype, ran, steady_n, fallback_ops_n, graph_breaks_n
FROM result_rows
WHERE run_id = $run;

CREATE TEMP TABLE call_rows AS
SELECT * FROM fallback_calls WHERE run_id = $run;

CREATE TEMP TABLE payoff_rows AS
SELECT * FROM fallback_payoffs WHERE run_id = $run;

CREATE TEMP TABLE break_rows AS
SELECT * FROM graph_breaks WHERE run_id = $run;

CREATE TEMP VIEW result_rows AS
SELECT * FROM run_rows;

CREATE TEMP VIEW fallback_calls AS
SELECT * FROM call_rows;

CREATE TEMP VIEW fallback_payoffs AS
SELECT * FROM payoff_rows;

CREATE TEMP VIEW graph_breaks AS
SELECT * FROM break_rows;

-- name: subset_pairs
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

-- name: subset_models
-- What macros of means read of each model, once for all of them, over the tables of `means.sql`.
CREATE TEMP TABLE model_rows AS
SELECT * FROM model_speedups(NULL, NULL);

CREATE TEMP MACRO model_speedups(
    baseline_backend, baseline_run, baseline_accelerator := NULL, runs := NULL, models := NULL, clean_of := []
) AS TABLE
SELECT *
FROM model_rows
ANTI JOIN unclean(clean_of, runs) USING (run_id, suite, model, test)
WHERE (runs IS NULL OR list_contains(runs::VARCHAR[], run_id))
    AND (models IS NULL OR list_contains(models::VARCHAR[], model));

CREATE TEMP MACRO suite_series_names(runs) AS TABLE
SELECT * FROM suite_series_rows;
