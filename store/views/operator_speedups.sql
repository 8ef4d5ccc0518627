-- Grain of operator_speedups(baseline_backend, baseline_run, baseline_accelerator, runs): one row per result of suite
-- operators, as macro speedups, with what view operators says of the call. `verdict` is faster or slower where the 95 %
-- interval of the speedup excludes 1, and same (no difference shown) where it contains 1; else `verdict_reason` says
-- why there is none. Forward and backward apart have ratios without interval, hence no verdict, and over a baseline of
-- the same run only.
CREATE OR REPLACE MACRO operator_speedups(baseline_backend, baseline_run, baseline_accelerator := NULL, runs := NULL) AS
TABLE
SELECT
    s.* EXCLUDE (result_id, settings_id, suite_series_id),
    o.operator, o.operator_key, o.arguments, o.floor_s, o.near_floor, o.forward_s, o.backward_s, o.input_bytes, o.flops,
    o.bytes_per_s, o.flops_per_s, o.of_model, o.of_test, o.calls, o.calls_s, o.model_latency_s, o.model_share,
    CASE WHEN s.speedup IS NOT NULL
        THEN max(o.forward_s) FILTER (s.record_id = s.baseline_record_id) OVER same / nullif(o.forward_s, 0)
    END AS forward_speedup,
    CASE WHEN s.speedup IS NOT NULL
        THEN max(o.backward_s) FILTER (s.record_id = s.baseline_record_id) OVER same / nullif(o.backward_s, 0)
    END AS backward_speedup,
    CASE WHEN s.speedup_low > 1 THEN 'faster'
        WHEN s.speedup_high < 1 THEN 'slower'
        WHEN s.speedup_low IS NOT NULL THEN 'same' END AS verdict,
    CASE WHEN s.speedup_low IS NOT NULL THEN NULL
        WHEN s.speedup IS NULL THEN s.speedup_reason
        WHEN s.record_id = s.baseline_record_id THEN 'this is the baseline'
        WHEN o.near_floor THEN 'below 3 times the time of an empty sync'
        WHEN f.record_id IS NOT NULL OR bool_or(o.near_floor) FILTER (s.record_id = s.baseline_record_id) OVER same
            THEN 'the baseline is below 3 times the time of an empty sync'
        WHEN s.cross_device THEN 'cross-device: a ratio without interval and verdict'
        ELSE 'under 6 samples on one side' END AS verdict_reason
FROM speedups(baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs) AS s
JOIN operators AS o ON o.run_id = s.run_id AND o.result_id = s.result_id
LEFT JOIN (SELECT DISTINCT record_id FROM record_findings WHERE code = 'near_floor') AS f
    ON f.record_id = s.baseline_record_id
-- A join with the baseline's own row would read the text of every run's records.
WINDOW same AS (PARTITION BY s.run_id, s.baseline_record_id);
