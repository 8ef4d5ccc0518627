-- Grain: one row per series that fails or has failed among its newest 10 answers up to $until: as macro failure_states.
SELECT series_id, state, failed_n, answered_n, pattern, pattern_started, since_run_id, since_started
FROM failure_states(10, until := $until)
WHERE failed_n > 0
