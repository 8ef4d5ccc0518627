-- Grain: at most one row: the first run whose turns were judged, where the store has runs of ours from before that.
SELECT
    min(run_started) FILTER (quiet_rule IS NOT NULL) AS marked_at,
    'disturbed turns are left out from here on' AS text,
    'xlabench' AS who
FROM result_rows
WHERE source = 'xlabench' AND ran
HAVING min(run_started) FILTER (quiet_rule IS NULL) < min(run_started) FILTER (quiet_rule IS NOT NULL)
