-- Grain: as view history, of one series, from the oldest run on.
SELECT *
FROM history
WHERE series_id = $series
ORDER BY run_started
