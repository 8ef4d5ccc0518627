-- Grain: as view runs, newest first.
SELECT *
FROM runs
ORDER BY run_started DESC, run_id
