-- Grain: one row per run.json of a run; a run that was read without one has none.
SELECT path
FROM run_files
WHERE run_id = $run
ORDER BY path
