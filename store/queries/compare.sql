-- Queries of comparisons: their cells, and what A/A controls and earlier runs say of the noise.

-- name: environments_of
-- Grain: one row per run of $runs: the names of its environments, those of confirmations too.
SELECT run_id, list(DISTINCT environment) AS names
FROM (
    SELECT run_id, environment FROM result_rows WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
    UNION ALL
    SELECT run_id, environment FROM records WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND purpose = 'confirmation'
)
GROUP BY run_id

-- name: earlier_sources
-- Grain: one row per model of suite `own` in the runs $runs whose name an earlier run has with another hash: `earlier` is the
-- newest of these names, `before_started` when it was measured last.
WITH named AS (
    SELECT DISTINCT model, split_part(model, '@', 1) AS title, run_id, run_started
    FROM result_rows
    WHERE suite = 'own' AND status <> 'not_run'
),
shown AS (
    SELECT model, title, min(run_started) AS run_started
    FROM named
    WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
    GROUP BY model, title
)
SELECT s.model, arg_max(b.model, (b.run_started, b.model)) AS earlier, max(b.run_started) AS before_started
FROM shown AS s
JOIN named AS b ON b.title = s.title AND b.model <> s.model AND b.run_started < s.run_started
GROUP BY s.model
ORDER BY s.model;

-- name: process_rounds
-- Grain: one row per process (replica) of a result of run $run: `rounds` and the median seconds per iteration of each,
-- `rounds_s`, both empty where nothing valid was timed, with what has to agree before it may be compared;
-- `near_floor` where a process of the result found its times to be; at `epochs_begin`, users have set marks. Of the attempt
-- that the results show. A process that gave no result (invalid, disturbed) has steady blocks, too, which count neither here
-- nor in the result's latency. Joins name the run again where that leaves the text of other runs' records unread.
WITH chosen AS (
    SELECT
        q.run_id, q.result_id, q.series_id, q.record_id, r.attempt, r.purpose, q.status, q.reason, q.ran, q.verification_code
    FROM result_rows AS q
    JOIN records AS r ON r.record_id = q.record_id AND r.run_id = q.run_id
    WHERE q.run_id = $run
    UNION ALL
    -- A confirmation is no result; of its attempts the newest counts, of its processes the first that ran.
    SELECT
        run_id, result_id, series_of(experiment_id, environment, accelerator_model, machine_id), record_id, attempt, purpose,
        status, reason, ran, verification_code
    FROM records
    WHERE run_id = $run AND purpose = 'confirmation'
    QUALIFY row_number() OVER (
        PARTITION BY run_id, result_id ORDER BY attempt DESC, ran DESC, replica
    ) = 1
),
processes AS (
    SELECT
        r.* REPLACE (
            CASE WHEN r.ran THEN r.kept_rounds END AS kept_rounds, CASE WHEN r.ran THEN r.kept_rounds_s END AS kept_rounds_s
        ),
        c.series_id, c.status AS result_status, c.ran AS result_ran, c.verification_code AS result_code,
        c.reason AS result_reason
    FROM chosen AS c
    JOIN records AS r
        ON r.run_id = $run AND r.result_id = c.result_id AND r.attempt = c.attempt AND r.purpose = c.purpose
        AND r.twin_of IS NULL
        -- Of several foreign records of one experiment the one that counts, as in the results.
        AND (r.source <> 'peer' OR r.record_id = c.record_id)
),
medians AS (
    SELECT record_id, coalesce(round, 0) AS round, median(per_iter_s) AS round_s
    FROM (
        -- As view samples has them, which would read the blocks of all runs.
        SELECT
            record_id, unnest(block_kind) AS kind, unnest(block_round) AS round,
            coalesce(unnest(block_per_iter_s), unnest(block_total_s) / nullif(iterations_per_run, 0)) AS per_iter_s
        FROM processes
        WHERE ran
    )
    WHERE kind = 'steady' AND per_iter_s > 0
    GROUP BY record_id, coalesce(round, 0)
),
timed AS (
    SELECT record_id, list(round ORDER BY round) AS rounds, list(round_s ORDER BY round) AS rounds_s
    FROM medians
    GROUP BY record_id
),
near AS (
    SELECT DISTINCT p.result_id
    FROM processes AS p
    JOIN record_findings AS f ON f.record_id = p.record_id AND f.code = 'near_floor'
)
SELECT
    p.experiment_id, p.environment, p.suite, p.model, p.test, p.accelerator, p.variant, p.backend, p.replica,
    coalesce(t.rounds, list_transform(p.kept_rounds, lambda round: coalesce(round, 0)), []) AS rounds,
    coalesce(t.rounds_s, p.kept_rounds_s, []) AS rounds_s,
    p.machine_id, p.accelerator_model, p.threads, p.dtype, p.batch_size,
    -- Of others' records only the batch size that was run is known, as in view comparable.
    CASE WHEN p.source = 'xlabench' THEN p.requested_batch_size ELSE p.batch_size END AS requested_batch_size,
    p.optimizer, p.loss, p.matmul_precision, p.workload, p.start, p.policy, p.iterations_per_run, p.torch, p.torch_xla,
    measured_as(NULL, p.threads, p.iterations_per_run, p.start, p.instrumented) AS measured,
    json_extract_string(p.record, '$.measurement.order') AS "order",
    list_transform(
        [
            json_extract(p.record, '$.measurement.quiet.turns.probe_s')::DOUBLE[],
            json_extract(p.record, '$.measurement.quiet.turns.threads_probe_s')::DOUBLE[]
        ],
        lambda probe: list_median(list_transform(
            list_filter(
                list_zip(probe, json_extract(p.record, '$.measurement.quiet.turns.reason')::VARCHAR[]),
                lambda turn: turn[2] IS NULL
            ),
            lambda turn: turn[1]
        ))
    ) AS probes_s,
    p.result_ran AS ran, p.result_code AS verification_code, p.result_reason AS reason,
    outcome(p.result_status, p.result_ran, p.result_code) AS outcome,
    n.result_id IS NOT NULL AS near_floor,
    p.run_started, coalesce(e.begins, []) AS epochs_begin
FROM processes AS p
LEFT JOIN near AS n USING (result_id)
LEFT JOIN timed AS t USING (record_id)
LEFT JOIN epochs AS e USING (series_id)
ORDER BY p.suite, p.model, p.test, p.variant, p.environment, p.replica

-- name: looks
-- Grain: one row. How often verdicts of the runs $runs may be asked for while processes are added to ambiguous cells, as
-- their records say; the largest of them, 1 where no run adds any. A join leaves other
-- runs' records unread; list_contains would read the text of them all.
SELECT coalesce(max(TRY_CAST(json_extract_string(record, '$.measurement.looks') AS INTEGER)), 1) AS looks_n
FROM records
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))

-- name: waits
-- Grain: one row per result of run $run that ran: what a user waits until it is steady, seconds
-- beyond steady iterations, and what an iteration takes from then on, with its interval: the numbers of macro break_evens.
SELECT experiment_id, environment, time_to_steady_s, latency_s, latency_low_s, latency_high_s
FROM result_rows
WHERE run_id = $run AND ran

-- name: next_steps
-- Grain: one row per result of a run and reason to look closer: `fallback` (an op that runs outside XLA; `amount` calls per
-- iteration), `graph_break` (`amount` breaks, one of their reasons), `never` (compiling never pays against eager of the
-- same run, and the interval says so, for any valid result of the backend, and none is disturbed, never steady or not run,
-- which might pay; `amount` times eager's latency, of the fastest, `low` and `high` are the ends of its interval).
-- Of several results of a backend (variants, environments, cold and warm caches), the one with most calls or breaks counts;
-- their sum is no result's. `what` is the op, a reason or the backend. `inputs`: of a model of the user's own, what was
-- typed with --input, as JSON.
WITH found AS (
    SELECT 'fallback' AS kind, suite, model, test, backend, op AS what, max(calls_per_iteration) AS amount,
        NULL AS low, NULL AS high
    FROM fallback_ops
    WHERE run_id = $run AND klass <> 'host_read' AND calls_per_iteration > 0
    GROUP BY ALL
    UNION ALL
    SELECT 'graph_break', suite, model, test, backend, min(reason), max(breaks_n), NULL, NULL
    FROM (
        SELECT result_id, suite, model, test, backend, min(reason) AS reason, sum(count) AS breaks_n
        FROM graph_breaks
        WHERE run_id = $run
        GROUP BY ALL
    )
    GROUP BY ALL
    UNION ALL
    SELECT
        'never', suite, model, test, backend, backend, min(latency_s / baseline_latency_s),
        1 / arg_min(speedup_high, latency_s / baseline_latency_s), 1 / arg_min(speedup_low, latency_s / baseline_latency_s)
    FROM break_evens('eager', NULL, runs := [$run])
    ANTI JOIN (
        SELECT suite, model, test, backend
        FROM result_rows
        WHERE run_id = $run AND status IN ('disturbed', 'never_steady', 'not_run')
    ) AS unknown USING (suite, model, test, backend)
    WHERE run_id = $run AND valid AND record_id IS DISTINCT FROM baseline_record_id
    GROUP BY ALL
    HAVING bool_and(coalesce(break_even = 'never' AND speedup_high < 1, false))
),
typed AS (
    SELECT model, any_value(json_extract(record, '$.experiment.source.inputs')::VARCHAR) AS inputs
    FROM records
    WHERE run_id = $run AND suite = 'own'
    GROUP BY model
)
SELECT found.*, typed.inputs
FROM found
LEFT JOIN typed ON found.suite = 'own' AND typed.model = found.model
ORDER BY kind, found.suite, found.model, test, what, backend;

-- name: aa_pairs
-- Grain: as view aa_pairs, of all runs but those that are compared. As in view noise_floors, pairs from before turns were judged
-- count only where the machine has no others that were measured alike.
SELECT machine_id, accelerator, threads, measured, policy, experiment_id, log_ratio, origin, run_id
FROM aa_pairs
WHERE NOT list_contains($runs::VARCHAR[], run_id) AND isfinite(log_ratio)
QUALIFY quiet OR NOT bool_or(quiet) OVER (PARTITION BY machine_id, accelerator, measured)

-- name: twin_pairs
-- Grain: one row per process of an A/A control of run $run, with its original: as view aa_pairs.
SELECT machine_id, accelerator, measured, policy, experiment_id, environment, attempt, log_ratio, round_variance
FROM aa_pairs
WHERE run_id = $run AND origin = 'twin'
ORDER BY experiment_id, environment, attempt, first_id

-- name: noise_floors
-- Grain: as view noise_floors, of the experiments that run $run measured against themselves; all its columns.
SELECT f.*
FROM noise_floors AS f
WHERE EXISTS (
    SELECT 1
    FROM aa_pairs AS p
    WHERE p.run_id = $run AND p.machine_id = f.machine_id AND p.experiment_id = f.experiment_id
        AND p.accelerator = f.accelerator AND p.measured = f.measured AND p.policy IS NOT DISTINCT FROM f.policy
)
ORDER BY f.suite, f.model, f.test, f.variant

-- name: between_runs
-- Grain: one row per machine and way in which it measured, as view noise_floors: how far runs of different days lie apart
-- that measured the same experiment in this way, under the same torch and torch_xla and in the same epoch; runs $runs and
-- wrong answers are left out. `squares` is the sum of squared deviations of ln(latency) from their mean, `freedom` the runs
-- less the means.
WITH medians AS (
    SELECT
        r.machine_id, r.accelerator, r.series_id, r.torch, r.torch_xla, r.policy, r.batch_size, ln(r.latency_s) AS log_s,
        measured_as(NULL, r.threads, r.iterations_per_run, r.start, r.instrumented) AS measured,
        epoch_at(e.begins, r.run_started) AS epoch
    FROM result_rows AS r
    LEFT JOIN epochs AS e ON e.series_id = r.series_id
    WHERE is_valid(r.ran, r.verification_code) AND r.latency_s > 0 AND NOT list_contains($runs, r.run_id)
),
series AS (
    SELECT machine_id, accelerator, measured, policy, count(*) AS runs_n, var_pop(log_s) * count(*) AS squares
    FROM medians
    GROUP BY machine_id, accelerator, measured, policy, batch_size, series_id, epoch, torch, torch_xla
    HAVING count(*) > 1
)
SELECT machine_id, accelerator, measured, policy, sum(squares) AS squares, sum(runs_n - 1) AS freedom
FROM series
GROUP BY machine_id, accelerator, measured, policy
