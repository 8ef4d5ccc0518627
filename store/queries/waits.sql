-- Grain: one row per result of run $run that ran: what a user waits until it is steady, seconds
-- beyond steady iterations, and what an iteration takes from then on, with its interval: the numbers of macro break_evens.
SELECT experiment_id, environment, time_to_steady_s, latency_s, latency_low_s, latency_high_s
FROM result_rows
WHERE run_id = $run AND ran
