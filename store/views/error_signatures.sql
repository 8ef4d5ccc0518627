-- Grain: one row per normalised message of failed results, over all runs: how often, where, and since when it occurs.
-- `example` is a message as it was, of the newest run that has it.
CREATE OR REPLACE VIEW error_signatures AS
SELECT
    error_signature,
    list(DISTINCT status ORDER BY status) AS statuses,
    list(DISTINCT failure_phase ORDER BY failure_phase) FILTER (failure_phase IS NOT NULL) AS phases,
    list(DISTINCT backend ORDER BY backend) AS backends,
    count(*) AS results_n,
    count(DISTINCT run_id) AS runs_n,
    count(DISTINCT (suite, model)) AS models_n,
    list(DISTINCT model ORDER BY model) AS models,
    arg_min(run_id, (run_started, run_id)) AS first_run_id,
    arg_min(run_label, (run_started, run_id)) AS first_run_label,
    min(run_started) AS first_started,
    arg_max(run_id, (run_started, run_id)) AS last_run_id,
    arg_max(run_label, (run_started, run_id)) AS last_run_label,
    max(run_started) AS last_started,
    arg_max(reason, (run_started, run_id)) AS example
FROM result_rows
WHERE error_signature IS NOT NULL
GROUP BY error_signature;
