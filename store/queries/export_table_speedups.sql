-- Grain: one row per result of these runs, with its speedup over inductor in the same run.
SELECT * EXCLUDE (result_id, settings_id, suite_series_id)
FROM speedups('inductor', NULL, runs := $runs::VARCHAR[])
