-- Grain: one row per series that the run $run measured to the end.
SELECT DISTINCT series_id
FROM result_rows
WHERE run_id = $run AND ran
ORDER BY series_id
