-- Views of suite operators.

-- name: operators
-- Grain: one row per result of suite operators, as results without the record: one call of one operator under one backend;
-- times are seconds per call. `floor_s` is the time of an empty sync; `near_floor`: a process of it found its time below
-- three times that, so it gets no verdict. In train `forward_s` and `backward_s` are each waited for, so each has half of
-- the floor. `flops` are those of XLA's program of the same call in the same run and environment. Where the operators are
-- those of a model, one iteration of `of_model` makes the call `calls` times, and `model_latency_s` is the model's own
-- latency in the same run, environment and variant, where the run has one configuration of it. A wrong answer has no part
-- in `calls_s`, and its latency is no model's. Only test `eval` of an operator is such a call: a training step makes the
-- calls of its backward pass as operators of their own.
CREATE OR REPLACE VIEW operators AS
WITH processes AS (
    SELECT
        p.run_id, p.result_id, p.attempt, p.ran, m.floor_s, m.input_bytes,
        n.record_id IS NOT NULL AS near_floor,
        json_extract(p.record, '$.used_by') AS used_by,
        steady_of(p.record, 'forward_time') AS forward_s,
        steady_of(p.record, 'backward_time') AS backward_s
    FROM processes() AS p
    LEFT JOIN (
        SELECT record_id,
            max(value) FILTER (name = 'empty_sync_s') AS floor_s,
            TRY_CAST(max(value) FILTER (name = 'input_bytes') AS BIGINT) AS input_bytes
        FROM record_metrics
        WHERE name IN ('empty_sync_s', 'input_bytes')
        GROUP BY record_id
    ) AS m ON m.record_id = p.record_id
    LEFT JOIN (SELECT DISTINCT record_id FROM record_findings WHERE code = 'near_floor') AS n ON n.record_id = p.record_id
    WHERE p.suite = 'operators'
),
measured AS (
    SELECT
        run_id, result_id, attempt,
        median(floor_s) FILTER (ran) AS floor_s,
        max(input_bytes) AS input_bytes,
        coalesce(bool_or(near_floor), false) AS near_floor,
        any_value(used_by) FILTER (json_type(used_by) = 'OBJECT') AS used_by,
        list_median(flatten(list(forward_s) FILTER (ran))) AS forward_s,
        list_median(flatten(list(backward_s) FILTER (ran))) AS backward_s
    FROM processes
    GROUP BY run_id, result_id, attempt
),
programs AS (
    SELECT record_id, sum(flops) AS flops
    FROM record_graphs
    WHERE kind = 'hlo'
    GROUP BY record_id
    HAVING count(*) = count(flops)
),
named AS (
    SELECT
        r.* EXCLUDE (settings_id, suite_series_id)
            REPLACE (coalesce(r.detail_record_id, r.record_id) AS detail_record_id),
        throughput_of(r.batch_size, r.latency_s) AS throughput_per_s,
        split_part(r.model, '(', 1) AS operator,
        operator_key(r.model) AS operator_key,
        regexp_replace(
            regexp_extract(r.model, '\((.*)$', 1), '\)((?: #\d+)?(?: discrete)?(?: cold L2)?)$', '\1'
        ) AS arguments,
        m.floor_s, coalesce(m.near_floor, false) AS near_floor, m.forward_s, m.backward_s, m.input_bytes,
        nullif(max(g.flops) OVER (PARTITION BY r.run_id, r.environment, r.model, r.test, r.accelerator), 0) AS flops,
        CASE WHEN r.test = 'eval' THEN json_extract_string(m.used_by, '$.model') END AS of_model,
        CASE WHEN r.test = 'eval' THEN json_extract_string(m.used_by, '$.test') END AS of_test,
        CASE WHEN r.test = 'eval' THEN TRY_CAST(json_extract(m.used_by, '$.calls') AS BIGINT) END AS calls
    FROM result_rows AS r
    LEFT JOIN measured AS m
        ON m.run_id = r.run_id AND m.result_id = r.result_id AND m.attempt = r.attempt
    LEFT JOIN programs AS g ON g.record_id = coalesce(r.detail_record_id, r.record_id)
    WHERE r.suite = 'operators'
),
-- An operator does not say which of several configurations of its model it was recorded from: then the time is unknown.
models AS (
    SELECT
        run_id, suite || '/' || model AS of_model, test, variant, environment, accelerator,
        CASE WHEN count(*) = 1 THEN any_value(latency_s) END AS latency_s
    FROM result_rows
    WHERE is_valid(ran, verification_code) AND suite <> 'operators'
        AND run_id IN (SELECT run_id FROM result_rows WHERE suite = 'operators')
    GROUP BY ALL
)
SELECT
    n.*,
    n.input_bytes / nullif(n.latency_s, 0) AS bytes_per_s,
    n.flops / nullif(n.latency_s, 0) AS flops_per_s,
    CASE WHEN is_valid(n.ran, n.verification_code) THEN n.calls * n.latency_s END AS calls_s,
    o.latency_s AS model_latency_s,
    calls_s / nullif(o.latency_s, 0) AS model_share
FROM named AS n
LEFT JOIN models AS o
    ON o.run_id = n.run_id AND o.of_model = n.of_model AND o.test = n.of_test
    AND o.variant = n.variant AND o.environment IS NOT DISTINCT FROM n.environment AND o.accelerator = n.accelerator;

-- name: operator_speedups
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

-- name: operator_totals
-- Grain: one row per run × model whose operators it measured × test of it × accelerator × environment × variant: the
-- sum of calls x time over its operators, and the model's own latency there. `measured_n` of `operators_n` operators
-- have a time. A compiler fuses operators, so the sum is not a part of the model's latency.
CREATE OR REPLACE VIEW operator_totals AS
SELECT
    run_id, of_model, of_test, accelerator, environment, backend, variant,
    count(*) AS operators_n,
    count(calls_s) AS measured_n,
    sum(calls)::BIGINT AS calls,
    sum(calls_s) AS calls_s,
    any_value(model_latency_s) AS model_latency_s,
    sum(calls_s) / nullif(any_value(model_latency_s), 0) AS model_share
FROM operators
WHERE of_model IS NOT NULL
GROUP BY run_id, of_model, of_test, accelerator, environment, backend, variant;
