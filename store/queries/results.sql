-- Queries over results, runs and their ratios.

-- name: filters
(len($suite::VARCHAR[]) = 0 OR list_contains($suite::VARCHAR[], suite))
    AND (len($model::VARCHAR[]) = 0 OR list_contains($model::VARCHAR[], model))
    AND (len($backend::VARCHAR[]) = 0 OR list_contains($backend::VARCHAR[], backend))
    AND (len($test::VARCHAR[]) = 0 OR list_contains($test::VARCHAR[], test))
    AND (len($accelerator::VARCHAR[]) = 0 OR list_contains($accelerator::VARCHAR[], accelerator))
    AND (len($dtype::VARCHAR[]) = 0 OR list_contains($dtype::VARCHAR[], dtype))
    AND (len($run::VARCHAR[]) = 0 OR list_contains($run::VARCHAR[], run_id))

-- name: facets
-- Grain: one row per filterable column and value, with the number of results that have it.
SELECT facet, value, count(*) AS results_n
FROM (
    UNPIVOT (SELECT suite, model, backend, test, accelerator, dtype, run_id AS run FROM result_rows)
    ON suite, model, backend, test, accelerator, dtype, run
    INTO NAME facet VALUE value
)
GROUP BY facet, value
ORDER BY facet, value

-- name: runs
-- Grain: as view runs, newest first.
SELECT *
FROM runs
ORDER BY run_started DESC, run_id

-- name: results
-- Grain: as view results.
SELECT * EXCLUDE (result_id, settings_id, suite_series_id)
FROM result_rows
WHERE /*filters*/
ORDER BY run_started DESC, run_id, suite, model, test, variant, environment

-- name: accelerators
-- Grain: run x accelerator x its model, of the results that fit; the newest run first.
SELECT DISTINCT run_id, run_started, accelerator, accelerator_model
FROM result_rows
WHERE /*filters*/
ORDER BY run_started DESC, run_id, accelerator, accelerator_model

-- name: series_names
-- Grain: one row per combination of the names by which a mark restricts itself to some series.
SELECT DISTINCT suite, model, test, backend, variant, environment, accelerator, accelerator_model, machine_id
FROM result_rows

-- name: speedups
-- Grain: as macro speedups.
SELECT * EXCLUDE (result_id, settings_id, suite_series_id)
FROM speedups(
    $baseline_backend::VARCHAR,
    $baseline_run::VARCHAR,
    runs := CASE WHEN len($run::VARCHAR[]) > 0 THEN $run::VARCHAR[] END
)
WHERE /*filters*/
ORDER BY run_started DESC, run_id, suite, model, test, variant, environment

-- name: geomeans
-- Grain: as macro geomeans, over the models that are asked for.
SELECT *
FROM geomeans(
    $baseline_backend::VARCHAR,
    $baseline_run::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    runs := CASE WHEN len($run::VARCHAR[]) > 0 THEN $run::VARCHAR[] END
)
WHERE /*filters without model*/
ORDER BY run_started DESC, run_id, suite, test, accelerator, variant, environment

-- name: payoffs
-- Grain: as view payoffs; without $run the newest measurement of each series and op, its versions whatever they are.
-- Measured payoffs first, the largest on top.
SELECT *
FROM payoffs
WHERE /*filters*/
QUALIFY len($run::VARCHAR[]) > 0 OR row_number() OVER (
    PARTITION BY experiment_id, environment, machine_id, accelerator_model ORDER BY run_started DESC, run_id
) = 1
ORDER BY payoff DESC NULLS LAST, suite, model, test, variant, environment

-- name: fallback_ranking
-- Grain: one row per op that XLA did not lower in the filtered results of a run; as view fallback_by_op, but over
-- all backends, tests and environments that the filters leave. The payoff is that of one result, with its interval: a
-- proven gain where there is one, the largest of several. Host reads last: nothing to lower.
-- $order `payoff`: proven gains first, the largest on top, and last the ops of which every measurement lies below 1;
-- between them what is not measured or not told apart, by its cost.
-- $order `saved`: what lowering it would save of an iteration at most, `saved_s` seconds: its time under the profiler, and no
-- more than an iteration takes.
-- `ranked_by` says what places the op by cost: its share of time where a profile knows it, else its calls.
WITH gains AS (
    SELECT op, payoffs_n, unnest(best), payoff_reason
    FROM (
        SELECT
            op,
            count(payoff) AS payoffs_n,
            arg_max({
                gain: gain, payoff: payoff, payoff_low: payoff_low, payoff_high: payoff_high, payoff_model: name
            }, (coalesce(gain, 0), payoff)) FILTER (payoff IS NOT NULL) AS best,
            any_value(payoff_reason) AS payoff_reason
        FROM (
            SELECT
                *,
                CASE WHEN min(suite) OVER same = max(suite) OVER same THEN model ELSE suite || '/' || model END AS name
            FROM fallback_payoffs
            WHERE /*filters*/
            WINDOW same AS (PARTITION BY model)
        )
        GROUP BY op
    )
),
ranked AS (
    SELECT op, unnest(totals), CASE WHEN totals.time_n > 0 THEN 'time' ELSE 'calls' END AS ranked_by, saved_s
    FROM (
        SELECT
            op,
            fallback_totals(c) AS totals,
            max(least(time_s, coalesce(profiled_iteration_s, latency_s))) FILTER (time_s IS NOT NULL) AS saved_s
        FROM fallback_calls AS c
        WHERE /*filters*/
        GROUP BY op
    )
)
SELECT
    r.*,
    coalesce(g.payoffs_n, 0) AS payoffs_n,
    g.gain, g.payoff, g.payoff_low, g.payoff_high, g.payoff_model, g.payoff_reason
FROM ranked AS r
LEFT JOIN gains AS g USING (op)
ORDER BY
    klass = 'host_read',
    CASE WHEN $order = 'payoff' THEN coalesce(gain, 0) END DESC NULLS LAST,
    CASE WHEN $order = 'payoff' AND gain = 1 THEN payoff END DESC NULLS LAST,
    CASE WHEN $order = 'blocked' THEN blocked_n END DESC NULLS LAST,
    saved_s DESC NULLS LAST,
    time_share DESC NULLS LAST,
    calls_per_iteration DESC NULLS LAST,
    steady_models_n DESC,
    op

-- name: findings
-- Grain: one row per code of a finding in these runs, results and confirmations alike.
WITH found AS (
    -- As view findings has them, which would be made of all runs.
    SELECT
        r.run_id, r.experiment_id, r.environment, r.model, r.test, r.variant, f.code,
        arg_min(f.text, p.replica) AS text, arg_min(f.next_step, p.replica) AS next_step
    FROM result_rows AS r
    JOIN processes() AS p USING (run_id, result_id, attempt)
    JOIN record_findings AS f ON f.record_id = p.record_id
    WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[])) AND p.run_id IN (SELECT unnest($runs::VARCHAR[]))
    GROUP BY ALL
    UNION ALL
    SELECT
        r.run_id, r.experiment_id, r.environment, any_value(r.model), any_value(r.test), any_value(r.variant), f.code,
        arg_min(f.text, r.replica), arg_min(f.next_step, r.replica)
    FROM records AS r
    JOIN record_findings AS f USING (record_id)
    WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[])) AND r.purpose = 'confirmation'
    GROUP BY r.run_id, r.experiment_id, r.environment, f.code
)
SELECT
    code,
    count(*) AS results_n,
    min_by(model || ' ' || test || ' ' || variant || ': ' || text, row(model, test, variant, environment, run_id, experiment_id)) AS example,
    min_by(next_step, row(model, test, variant, environment, run_id, experiment_id)) AS next_step
FROM found
GROUP BY code
ORDER BY results_n DESC, code

-- name: result_findings
-- Grain: one row per result of these runs and code of a finding: `text` and `next_step` are those of its first process, as
-- view findings has them, which would be made of all runs.
SELECT r.record_id, f.code, arg_min(f.text, p.replica) AS text, arg_min(f.next_step, p.replica) AS next_step
FROM result_rows AS r
JOIN processes() AS p USING (run_id, result_id, attempt)
JOIN record_findings AS f ON f.record_id = p.record_id
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[])) AND p.run_id IN (SELECT unnest($runs::VARCHAR[]))
GROUP BY r.record_id, f.code
ORDER BY r.record_id, f.code

-- name: passed
-- Grain: one row per (experiment_id, environment) whose newest measurement outside one run has a result.
SELECT experiment_id, environment
FROM result_rows
WHERE run_id <> $run_id AND status NOT IN ('not_run', 'skipped')
QUALIFY row_number() OVER (PARTITION BY experiment_id, environment ORDER BY run_started DESC, run_id) = 1
    AND status IN ('ok', 'verify_only')

-- name: peer_datapoints
-- Grain: one row per record that counts and has a value under the peer's rule, in the order of the files: as $files
-- names them, others by path. A record that several files hold stands where it is last: the last one counts.
SELECT
    r.accelerator_model, r.model, r.backend, r.batch_size, r.run_started,
    CASE $metric WHEN 'compile' THEN r.compile_peer_s ELSE r.peer_exec_s END AS avg,
    CASE $metric WHEN 'compile' THEN 0.0 ELSE r.peer_exec_std_s END AS std,
    -- The peer's rule knows no such doubts, and uses these records as all others.
    r.status = 'disturbed' AS disturbed, r.verification_code IS NOT DISTINCT FROM 'FAIL' AS wrong
FROM processes() AS r
JOIN (
    SELECT record_id, max((coalesce(list_position($files::VARCHAR[], path), 0), path, byte_offset)) AS place
    FROM record_sources
    GROUP BY record_id
) AS s USING (record_id)
WHERE r.test = $test
    AND regexp_matches(coalesce(r.accelerator_model, r.accelerator), $accelerator, 'i')
    AND (len($suite::VARCHAR[]) = 0 OR list_contains($suite::VARCHAR[], r.suite))
    AND CASE $metric WHEN 'compile' THEN r.compile_peer_s ELSE r.peer_exec_s END IS NOT NULL
ORDER BY s.place

-- name: seconds_per_record
-- Grain: one row per suite × model × test × accelerator × variant that the store's newest runs measured: how long its
-- records took in wall time. A run writes one record after the other; what passed since the record before belongs to the
-- group that wrote it, whose members take turns: it is shared among them by what each spent on starting, loading and
-- its timed blocks, evenly where a record does not tell; runs whose samples were pruned are left out. A break of more
-- than an hour is a pause, no work.
WITH newest AS (
    SELECT DISTINCT run_id, run_started
    FROM records
    WHERE finished_at IS NOT NULL AND purpose <> 'reported' AND pruned_at IS NULL
    ORDER BY run_started DESC
    LIMIT 30
),
gaps AS (
    SELECT
        run_id, suite, model, test, accelerator, variant,
        epoch(finished_at - coalesce(lag(finished_at) OVER (PARTITION BY run_id ORDER BY finished_at), run_started))
            AS gap_s,
        coalesce(start_time_s, 0) + coalesce(load_time_s, 0) + coalesce(list_sum(
            CASE WHEN block_loops IS NULL THEN block_total_s
                ELSE list_transform(list_zip(block_total_s, block_loops), lambda block: block[1] * block[2]) END
        ), 0) AS own_s
    FROM records
    JOIN newest USING (run_id, run_started)
    WHERE finished_at IS NOT NULL
),
shared AS (
    SELECT
        run_id, suite, model, test, accelerator, variant,
        sum(gap_s) OVER own_group * coalesce(own_s / nullif(sum(own_s) OVER own_group, 0), 1 / count(*) OVER own_group)
            AS share_s
    FROM gaps
    WHERE gap_s BETWEEN 0 AND 3600
    WINDOW own_group AS (PARTITION BY run_id, suite, model, test, accelerator)
),
measured AS (
    SELECT suite, model, test, accelerator, variant, avg(share_s) AS seconds, count(*) AS records_n
    FROM shared
    GROUP BY run_id, suite, model, test, accelerator, variant
)
SELECT suite, model, test, accelerator, variant, median(seconds) AS seconds, sum(records_n)::BIGINT AS records_n
FROM measured
GROUP BY suite, model, test, accelerator, variant
ORDER BY suite, model, test, accelerator, variant
