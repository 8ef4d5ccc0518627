-- Grain: one row per result of these runs, with its speedup over inductor in the same run.
FROM speedups('inductor', NULL, runs := $runs::VARCHAR[])
