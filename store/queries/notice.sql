-- Queries of notices.

-- name: notice_failures
-- Grain: one row per series that failed, or passed after it had failed, in its newest answer of the runs $runs: as macro
-- failure_states over its newest 10 answers.
SELECT
    series_id, suite, model, test, variant, accelerator, accelerator_model, environment, run_id, since_run_id,
    before_run_id, pattern, state, failed_n, answered_n, failure_status, failure_phase, failure_reason
FROM failure_states(10)
WHERE failed_n > 0 AND run_id IN (SELECT unnest($runs::VARCHAR[]))
ORDER BY suite, model, test, variant, series_id

-- name: notice_runs
-- Grain: one row per run, the oldest first: whether every planned experiment has a record, and when it was ingested last.
SELECT run_id, coalesce(run_label, run_id) AS label, run_started AS started, complete, ingested_at, torch, torch_xla
FROM runs
ORDER BY run_started, run_id

-- name: notice_series
-- Grain: one row per series that the run $run measured to the end.
SELECT DISTINCT series_id
FROM result_rows
WHERE run_id = $run AND ran
ORDER BY series_id
