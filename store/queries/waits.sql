-- Grain: one row per result of run $run that ran: what a user waits until it is steady, seconds beyond steady iterations.
SELECT experiment_id, environment, time_to_steady_s
FROM results
WHERE run_id = $run AND ran
