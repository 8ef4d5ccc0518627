-- Views of results against a baseline.

-- name: comparable
-- Grain: as results. The fields in which two results must agree before their latencies may be divided, as text; NULL is
-- unknown. xlabench's own records have NULL for a setting that is not used, which is a known value. `place` is the
-- position of the row in result_rows, in this snapshot only. Of a `known` result there is a latency, or bounds of one.
CREATE OR REPLACE VIEW comparable AS
SELECT
    rowid AS place, run_id, run_started, series_id, result_id, settings_id, experiment_id, environment, record_id,
    suite, model, test, accelerator, backend, variant, status, reason,
    dtype, requested_batch_size, optimizer, loss, matmul_precision, workload, attempt,
    steady_n, latency_s, latency_low_s, latency_high_s, time_to_steady_s, verification_code, at_least_s, at_most_s,
    is_valid(ran, verification_code) AS valid,
    is_valid(ran OR at_least_s > 0, verification_code) AS known,
    CASE WHEN source = 'xlabench' THEN coalesce(environment, 'default') END AS environment_key,
    CASE WHEN source = 'xlabench' THEN coalesce(dtype, 'default') ELSE dtype END AS dtype_key,
    CASE WHEN source = 'xlabench' THEN coalesce(requested_batch_size::VARCHAR, 'default')
        ELSE batch_size::VARCHAR END AS request_key,
    CASE WHEN source = 'xlabench' THEN coalesce(optimizer, 'none') END AS optimizer_key,
    CASE WHEN source = 'xlabench' THEN coalesce(loss, 'default') END AS loss_key,
    CASE WHEN source = 'xlabench' THEN coalesce(matmul_precision, 'default') END AS precision_key,
    CASE WHEN source = 'xlabench' THEN coalesce(workload, 'default') END AS workload_key,
    accelerator_model AS accelerator_model_key,
    machine_id AS machine_key,
    CASE WHEN source = 'xlabench' THEN coalesce(batch_size::VARCHAR, 'none') ELSE batch_size::VARCHAR END AS batch_key,
    threads::VARCHAR AS threads_key,
    start AS start_key,
    policy AS policy_key,
    iterations_per_run::VARCHAR AS iterations_key,
    CASE WHEN instrumented THEN 'on' WHEN NOT instrumented THEN 'off' END AS instrumented_key
FROM result_rows;

-- name: baselines
-- Grain of baselines(backend, point, device, runs, models): one row per result that may be the baseline of others, as
-- comparable. `models`: the requested ones (NULL: all). `point`: NULL or 'same' the own run (then `runs` narrows),
-- 'latest' or 'oldest' the newest or oldest valid result of each series, one for each way in which it was measured and each
-- epoch, so that a result finds one that was measured alike; else a run_id. `device`: NULL, or the
-- accelerator or accelerator model that it has to be of. `run_key` is what a result joins it by: the run_id where that
-- is the point, else the word.
CREATE OR REPLACE MACRO baselines(backend_name, point, device, runs, models := NULL) AS TABLE
SELECT *, run_id AS run_key
FROM comparable
WHERE variant IN (backend_name, backend_name || ' cudagraphs')
    AND (device IS NULL OR device IN (accelerator, accelerator_model_key))
    AND CASE WHEN coalesce(point, 'same') = 'same' THEN runs IS NULL OR run_id IN (SELECT unnest(runs::VARCHAR[]))
        ELSE run_id = point END
    AND (models IS NULL OR list_contains(models::VARCHAR[], model))
UNION ALL
SELECT c.*, point
FROM comparable AS c
-- By place, not by series and run: a scan reads the row groups that hold one, not every result that there is.
JOIN (
    SELECT
        CASE point WHEN 'latest' THEN arg_max(place, (valid, run_started, run_id, place))
            ELSE arg_min(place, (NOT valid, run_started, run_id, place)) END AS place,
        bool_or(valid) AS is_valid
    FROM (SELECT *, rowid AS place, is_valid(ran, verification_code) AS valid FROM result_rows)
    LEFT JOIN epochs USING (series_id)
    WHERE point IN ('latest', 'oldest')
        AND variant IN (backend_name, backend_name || ' cudagraphs')
        AND (device IS NULL OR device IN (accelerator, accelerator_model))
        AND (models IS NULL OR list_contains(models::VARCHAR[], model))
    GROUP BY
        series_id, source = 'xlabench', batch_size, threads, iterations_per_run, start, instrumented, policy,
        epoch_at(begins, run_started)
    QUALIFY is_valid OR NOT bool_or(is_valid) OVER (PARTITION BY series_id)
) AS chosen USING (place)
-- Said once more here, as the optimizer does not see through the window that there is nothing to join at other points.
WHERE point IN ('latest', 'oldest');

-- name: speedups
-- Grain of pairs: as macro speedups, which consists of these pairs of results and baselines.
CREATE OR REPLACE MACRO pairs(baseline_backend, baseline_run, baseline_accelerator := NULL, runs := NULL, models := NULL) AS TABLE
WITH near AS (
    SELECT DISTINCT r.result_id, r.attempt
    FROM record_findings AS f
    JOIN records AS r USING (record_id)
    WHERE f.code = 'near_floor' AND r.twin_of IS NULL
),
candidates AS (
    SELECT
        o.run_id, o.result_id,
        o.attempt, o.valid, o.known,
        coalesce(o.reason, 'wrong answer: verification ' || o.verification_code) AS reason,
        b.known AS baseline_known,
        b.at_least_s AS baseline_at_least_s,
        b.at_most_s AS baseline_at_most_s,
        b.run_id AS baseline_run_id,
        b.experiment_id AS baseline_experiment_id,
        b.result_id AS baseline_result_id,
        b.attempt AS baseline_attempt,
        b.variant AS baseline_variant,
        b.record_id AS baseline_record_id,
        b.status AS baseline_status,
        coalesce(b.reason, 'wrong answer: verification ' || b.verification_code) AS baseline_reason,
        coalesce(b.valid, false) AS baseline_valid,
        b.latency_s AS baseline_latency_s,
        b.latency_low_s AS baseline_latency_low_s,
        b.latency_high_s AS baseline_latency_high_s,
        b.steady_n AS baseline_steady_n,
        b.time_to_steady_s AS baseline_time_to_steady_s,
        b.accelerator_model_key AS baseline_accelerator_model,
        b.run_started AS baseline_started,
        epoch_at(be.begins, b.run_started) AS baseline_epoch,
        baseline_accelerator IS NOT NULL
            AND (b.accelerator, b.accelerator_model_key) IS DISTINCT FROM (o.accelerator, o.accelerator_model_key)
            AS other_device,
        -- Elements 1 to 9 are requested, the others measured.
        differences(
            [
                'environment', 'dtype', 'requested batch size', 'optimizer', 'loss', 'matmul precision',
                'what is timed', 'accelerator model', 'machine',
                'batch size', 'threads', 'thread policy', 'iterations per block', 'start method', 'instrumentation'
            ],
            o.keys, b.keys,
            [
                true, true, true, true, true, true, true, NOT other_device, NOT other_device,
                true, NOT other_device,
                -- Unknown of older records: that alone is no reason to refuse those, they stay suspected at most.
                NOT other_device AND other_policy(o.policy_key, b.policy_key),
                -- A block ends with a wait for the device, which its iterations share. Unknown of other tools' records.
                o.iterations_key <> b.iterations_key,
                true, true
            ],
            o.run_id = b.run_id
        ) AS diffs,
        is_mark_between(oe.begins, o.run_started, be.begins, b.run_started) AS marked
    FROM (
        SELECT
            c.*,
            c.variant <> baseline_backend AND w.run_id IS NOT NULL AS beside_baselines,
            [
                environment_key, dtype_key, request_key, optimizer_key, loss_key, precision_key, workload_key,
                accelerator_model_key, machine_key,
                batch_key, threads_key, policy_key, iterations_key, start_key, instrumented_key
            ] AS keys
        FROM comparable AS c
        -- A join, and no IN, so that a condition on the run goes down to this scan too.
        LEFT JOIN (
            SELECT DISTINCT run_id
            FROM result_rows
            WHERE variant = baseline_backend AND (runs IS NULL OR run_id IN (SELECT unnest(runs::VARCHAR[])))
        ) AS w ON w.run_id = c.run_id
    ) AS o
    LEFT JOIN (
        SELECT
            *,
            [
                environment_key, dtype_key, request_key, optimizer_key, loss_key, precision_key, workload_key,
                accelerator_model_key, machine_key,
                batch_key, threads_key, policy_key, iterations_key, start_key, instrumented_key
            ] AS keys
        FROM baselines(baseline_backend, baseline_run, baseline_accelerator, runs, models := models)
    ) AS b
        ON b.run_key = coalesce(nullif(baseline_run, 'same'), o.run_id)
        AND b.suite = o.suite
        AND b.model = o.model
        AND b.test = o.test
        AND (b.accelerator = o.accelerator OR baseline_accelerator IS NOT NULL)
        -- With CUDA graphs it stands in for the baseline only where its run has none without: else it has none, not itself.
        AND NOT (o.beside_baselines AND b.result_id = o.result_id)
    LEFT JOIN epochs AS oe ON oe.series_id = o.series_id
    LEFT JOIN epochs AS be ON be.series_id = b.series_id
    WHERE (runs IS NULL OR o.run_id IN (SELECT unnest(runs::VARCHAR[])))
        AND (models IS NULL OR list_contains(models::VARCHAR[], o.model))
),
-- The best candidate of each result. An aggregate, as a window over as many columns took half of the whole time, and of
-- the columns that are read; its keys stand outside of the struct, so that a condition on the run goes down to the scans.
chosen AS (
    SELECT
        run_id, result_id,
        arg_min(
            {
                attempt: attempt, valid: valid, known: known, reason: reason, other_device: other_device,
                requested_diff: list_any_value(diffs[:9]),
                measured_diff: coalesce(
                    list_any_value(diffs[10:]), CASE WHEN marked THEN 'a mark lies between the two runs' END
                ),
                baseline_known: baseline_known, baseline_at_least_s: baseline_at_least_s,
                baseline_at_most_s: baseline_at_most_s, baseline_run_id: baseline_run_id,
                baseline_result_id: baseline_result_id, baseline_attempt: baseline_attempt,
                baseline_variant: baseline_variant, baseline_record_id: baseline_record_id,
                baseline_status: baseline_status, baseline_reason: baseline_reason, baseline_valid: baseline_valid,
                baseline_latency_s: baseline_latency_s, baseline_latency_low_s: baseline_latency_low_s,
                baseline_latency_high_s: baseline_latency_high_s, baseline_steady_n: baseline_steady_n,
                baseline_time_to_steady_s: baseline_time_to_steady_s,
                baseline_accelerator_model: baseline_accelerator_model, baseline_epoch: baseline_epoch
            },
            (
                list_count(diffs[:9]), baseline_variant IS DISTINCT FROM baseline_backend,
                list_count(diffs[10:]) + marked::INTEGER,
                NOT baseline_valid, CASE WHEN baseline_run = 'oldest' THEN 1 ELSE -1 END * epoch_us(baseline_started),
                baseline_run_id, baseline_experiment_id
            )
        ) AS best
    FROM candidates
    GROUP BY run_id, result_id
)
SELECT
    run_id, result_id,
    best.*,
    coalesce((result_id, best.attempt) IN (SELECT (result_id, attempt) FROM near), false)
        OR coalesce((best.baseline_result_id, best.baseline_attempt) IN (SELECT (result_id, attempt) FROM near), false)
        AS near_floor,
    best.baseline_run_id IS NOT NULL AND best.other_device AS cross_device,
    best.valid AND best.baseline_valid AND best.requested_diff IS NULL AND best.measured_diff IS NULL AS paired,
    best.known AND best.baseline_known AND NOT (best.valid AND best.baseline_valid) AND NOT best.other_device
        AND best.requested_diff IS NULL AND best.measured_diff IS NULL AS bounded,
    CASE
        WHEN NOT best.valid THEN best.reason
        WHEN best.baseline_run_id IS NULL THEN 'no baseline result'
        WHEN best.requested_diff IS NOT NULL THEN 'not comparable: ' || best.requested_diff
        WHEN NOT best.baseline_valid THEN format('baseline {}: {}', baseline_backend, best.baseline_reason)
        WHEN best.measured_diff IS NOT NULL THEN 'not comparable: ' || best.measured_diff
    END AS speedup_reason
FROM chosen;

-- Grain of speedups(baseline_backend, baseline_run, baseline_accelerator, runs, models): one row per row of results (of `runs`
-- and `models`; NULL: all), with its baseline: the result of the variant `baseline_backend` at the point `baseline_run` (NULL or 'same':
-- its own run, 'latest', 'oldest', or a run_id: macro baselines) for the same model, test and accelerator that agrees in
-- most requested settings and was measured most alike; where a preset has CUDA graphs on, that variant with them. `speedup` is baseline latency /
-- latency, with the 95 % interval of Zou and Donner (2008) on the log scale; where it is NULL, `speedup_reason` says why.
-- `baseline_epoch` is the epoch of the baseline's series; speedups over baselines of two epochs are not compared.
-- With `baseline_accelerator` the baseline may be of another device: such a pair is `cross_device` and has no interval,
-- hence no verdict; nor has one of which a side is below three times the time of an empty sync (`near_floor`).
-- Where a side was refused, as other programs disturbed it, `speedup_at_least` and `speedup_at_most` bound the speedup, if
-- waits alone disturbed it (`bounded`). Reports show those that are clear of 1: docs/busy-machine.md says how well they hold.
CREATE OR REPLACE MACRO speedups(baseline_backend, baseline_run, baseline_accelerator := NULL, runs := NULL, models := NULL) AS TABLE
SELECT
    r.* REPLACE (coalesce(r.detail_record_id, r.record_id) AS detail_record_id),
    throughput_of(r.batch_size, r.latency_s) AS throughput_per_s,
    baseline_backend AS baseline_backend,
    p.baseline_run_id,
    p.baseline_record_id,
    p.baseline_variant,
    p.baseline_status,
    p.baseline_latency_s,
    p.baseline_steady_n,
    p.baseline_time_to_steady_s,
    p.baseline_accelerator_model,
    p.baseline_epoch,
    p.cross_device,
    p.valid,
    p.baseline_valid,
    CASE WHEN p.paired THEN p.baseline_latency_s / r.latency_s END AS speedup,
    CASE WHEN p.paired AND NOT p.cross_device AND NOT p.near_floor AND r.record_id <> p.baseline_record_id THEN
        p.baseline_latency_s / r.latency_s * exp(-sqrt(
            pow(ln(p.baseline_latency_s / nullif(p.baseline_latency_low_s, 0)), 2)
            + pow(ln(r.latency_high_s / r.latency_s), 2)))
    END AS speedup_low,
    CASE WHEN p.paired AND NOT p.cross_device AND NOT p.near_floor AND r.record_id <> p.baseline_record_id THEN
        p.baseline_latency_s / r.latency_s * exp(sqrt(
            pow(ln(p.baseline_latency_high_s / p.baseline_latency_s), 2)
            + pow(ln(r.latency_s / nullif(r.latency_low_s, 0)), 2)))
    END AS speedup_high,
    CASE WHEN p.bounded AND NOT p.near_floor
        THEN coalesce(p.baseline_latency_low_s, p.baseline_at_least_s) / coalesce(r.latency_high_s, r.at_most_s)
        END AS speedup_at_least,
    CASE WHEN p.bounded AND NOT p.near_floor
        THEN coalesce(p.baseline_latency_high_s, p.baseline_at_most_s) / coalesce(r.latency_low_s, r.at_least_s)
        END AS speedup_at_most,
    p.speedup_reason
FROM (
    SELECT *
    FROM result_rows
    WHERE (runs IS NULL OR run_id IN (SELECT unnest(runs::VARCHAR[])))
        AND (models IS NULL OR list_contains(models::VARCHAR[], model))
) AS r
JOIN pairs(
    baseline_backend, baseline_run, baseline_accelerator := baseline_accelerator, runs := runs, models := models
) AS p USING (run_id, result_id);

-- name: break_evens
-- Grain of break_evens(baseline_backend, baseline_run, baseline_accelerator, runs): one row per row of speedups that has a
-- time to steady state, with the baseline's. `break_even` says when the whole work, waiting included, is done earlier than
-- with the baseline: 'ahead from the start', 'after' so many iterations, 'never' (also where it starts ahead and loses it),
-- or 'undecided' where the interval of the speedup contains 1 or is not known; NULL where the two have no speedup or a wait
-- is not known. The rule is that of store/compare/cell.py. `ahead_at_first_n` is the number of iterations for which a result
-- with 'never' is ahead all the same, as it waits less: 0 where it is not, NULL for every other outcome.
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
    CASE WHEN break_even = 'after' THEN TRY_CAST(floor(behind_s / gain_s) + 1 AS BIGINT) END AS break_even_iterations,
    CASE WHEN break_even = 'never' THEN
        CASE WHEN behind_s < 0 AND gain_s < 0 THEN TRY_CAST(ceil(behind_s / gain_s) - 1 AS BIGINT) ELSE 0 END
    END AS ahead_at_first_n,
    CASE WHEN break_even = 'after' THEN time_to_steady_s + (floor(behind_s / gain_s) + 1) * latency_s END AS break_even_s
FROM judged;
