-- Grain of break_evens(baseline_backend, baseline_run, baseline_accelerator, runs): one row per row of speedups that has a
-- time to steady state, with the baseline's. `break_even` says when the whole work, waiting included, is done earlier than
-- with the baseline: 'ahead from the start', 'after' so many iterations, 'never' (also where it starts ahead and loses it),
-- or 'undecided' where the interval of the speedup contains 1 or is not known; NULL where the two have no speedup or a wait
-- is not known. The rule is that of store/compare/cell.py.
CREATE OR REPLACE MACRO break_evens(baseline_backend, baseline_run, baseline_accelerator := NULL, runs := NULL) AS TABLE
WITH sides AS (
    SELECT
        *,
        time_to_steady_s - baseline_time_to_steady_s AS behind_s,
        baseline_latency_s - latency_s AS gain_s,
        speedup IS NOT NULL AND NOT cross_device AND record_id <> baseline_record_id
            AND baseline_time_to_steady_s IS NOT NULL AS known
    FROM speedups(baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs)
    WHERE time_to_steady_s IS NOT NULL
),
judged AS (
    SELECT
        *,
        CASE
            WHEN NOT known THEN NULL
            WHEN coalesce(speedup_low <= 1 AND speedup_high >= 1, TRUE) THEN 'undecided'
            WHEN behind_s <= 0 AND gain_s >= 0 THEN 'ahead from the start'
            WHEN gain_s > 0 THEN 'after'
            ELSE 'never'
        END AS break_even
    FROM sides
)
SELECT
    * EXCLUDE (result_id, settings_id, suite_series_id, behind_s, gain_s, known),
    CASE WHEN break_even = 'after' THEN (floor(behind_s / gain_s) + 1)::BIGINT END AS break_even_iterations,
    CASE WHEN break_even = 'after' THEN time_to_steady_s + (floor(behind_s / gain_s) + 1) * latency_s END AS break_even_s
FROM judged;
