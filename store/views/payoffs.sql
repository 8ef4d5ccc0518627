-- Views of what lowering an op would gain.

-- name: payoffs
-- Grain: one row per run, experiment with replaced fallback ops and environment (`xlabench run --without-fallback`):
-- what the model gains without them, against the same configuration with them in the same run. Such runs appear in no
-- view of results. It compares the newest attempt that both have, as sides of two attempts took no turns. `payoff` is
-- the latency with the ops over that without them: per process the median over the rounds that both sides took, its
-- mean over processes on the log scale with Student's 95 % interval (from two processes on). Where it is NULL,
-- `payoff_reason` says why: it needs ops that fell back before and do not any more, an answer that was verified, no
-- wrong answer before, and sides that took turns. `gain` is 1 where interval and effect lie above 1 and the machine's
-- noise floor, -1 where they lie below, else 0; NULL for one process, which has no interval. `op` is the replaced op,
-- or several joined by commas.
CREATE OR REPLACE VIEW payoffs AS
WITH timed AS (
    SELECT record_id, list(per_iter_s ORDER BY block) AS steady_s
    FROM samples
    WHERE kind = 'steady' AND per_iter_s IS NOT NULL
        AND record_id IN (SELECT record_id FROM records WHERE purpose = 'payoff')
    GROUP BY record_id
),
attempted AS (
    SELECT
        r.*,
        coalesce(t.steady_s, []) AS steady_s,
        json_extract_string(r.record, '$.instead_of') AS ordinary_id,
        CASE WHEN ordinary_id IS NOT NULL THEN result_of(r.run_id, ordinary_id, r.environment) END AS ordinary_result_id,
        coalesce(ordinary_result_id, r.result_id) AS family,
        from_json(json_extract(r.record, '$.experiment.without_fallback'), '["VARCHAR"]') AS ops,
        from_json(json_extract(r.record, '$.replacements'), '[{"op": "VARCHAR", "way": "VARCHAR", "source": "VARCHAR"}]')
            AS replacements,
        json_extract_string(r.record, '$.measurement.order') AS turns,
        from_json(json_extract(r.record, '$.measurement.blocks'), '{"kind": ["VARCHAR"], "round": ["INTEGER"]}') AS blocks
    FROM records AS r
    LEFT JOIN timed AS t ON t.record_id = r.record_id
    WHERE r.purpose = 'payoff' AND r.twin_of IS NULL
),
-- Attempts that all sides of a configuration have; a run that was stopped may have begun a further one.
complete AS (
    SELECT run_id, family, max(attempt) AS attempt
    FROM (
        SELECT
            run_id, family, attempt,
            count(DISTINCT result_id) = max(count(DISTINCT result_id)) OVER (PARTITION BY run_id, family) AS is_complete
        FROM attempted
        GROUP BY run_id, family, attempt
    )
    WHERE is_complete
    GROUP BY run_id, family
),
members AS (
    SELECT a.*
    FROM attempted AS a
    JOIN complete AS c ON c.run_id = a.run_id AND c.family = a.family AND c.attempt = a.attempt
),
rounds AS (
    SELECT record_id, sample[1] AS round, median(sample[2]) AS round_s
    FROM (
        SELECT record_id, unnest(list_zip(
            list_where(blocks.round, list_transform(blocks.kind, lambda kind: kind = 'steady')), steady_s)) AS sample
        FROM members
        WHERE ran AND len(steady_s) = len(list_filter(blocks.kind, lambda kind: kind = 'steady'))
    )
    GROUP BY ALL
),
processes AS (
    SELECT s.run_id, s.result_id, s.replica, median(ln(x.round_s / y.round_s)) AS log_ratio
    FROM members AS s
    JOIN members AS o ON o.run_id = s.run_id AND o.result_id = s.ordinary_result_id AND o.replica = s.replica
    JOIN rounds AS x ON x.record_id = o.record_id
    JOIN rounds AS y ON y.record_id = s.record_id AND y.round = x.round
    GROUP BY ALL
),
effects AS (
    SELECT
        run_id, result_id,
        count(*) AS pairs_n, avg(log_ratio) AS effect, stddev_samp(log_ratio) / sqrt(count(*)) AS std_error
    FROM processes
    GROUP BY ALL
),
sides AS (
    SELECT
        run_id, result_id,
        any_value(experiment_id) AS experiment_id, any_value(environment) AS environment,
        arg_min(record_id, replica) AS record_id,
        any_value(ordinary_id) AS ordinary_id, any_value(ordinary_result_id) AS ordinary_result_id,
        any_value(ops) AS ops,
        first(replacements ORDER BY len(replacements) DESC NULLS LAST, replica) AS replacements,
        any_value(run_label) AS run_label, any_value(run_started) AS run_started,
        any_value(suite) AS suite, any_value(model) AS model, any_value(test) AS test, any_value(backend) AS backend,
        any_value(variant) AS variant, any_value(accelerator) AS accelerator,
        any_value(accelerator_model) AS accelerator_model, any_value(machine_id) AS machine_id,
        any_value(torch) AS torch, any_value(torch_xla) AS torch_xla, any_value(dtype) AS dtype,
        any_value(batch_size) AS batch_size, any_value(requested_batch_size) AS requested_batch_size,
        any_value(threads) AS threads, any_value(policy) AS policy,
        any_value(measured_as(NULL, threads, iterations_per_run, start, instrumented)) AS measured,
        max(finished_at) AS finished_at,
        arg_min(verification_code, replica) AS verification_code,
        count(*) FILTER (ran) AS ran_n,
        first(status || ': ' || coalesce(reason, 'no words') ORDER BY replica) FILTER (NOT ran) AS reason,
        list_median(flatten(list(steady_s) FILTER (ran))) AS latency_s,
        bool_and(turns <> 'sequence') AS in_turns
    FROM members
    GROUP BY run_id, result_id
),
calls AS (
    SELECT m.run_id, m.result_id, o.op,
        max(o.calls_per_iteration) AS calls_per_iteration, max(o.calls_compile) AS calls_compile
    FROM members AS m
    JOIN record_fallback_ops AS o USING (record_id)
    GROUP BY ALL
),
called AS (
    SELECT run_id, result_id,
        list({'op': op, 'steady': coalesce(calls_per_iteration, 0) > 0, 'n': calls_per_iteration} ORDER BY op) AS calls
    FROM calls
    GROUP BY ALL
),
paired AS (
    SELECT
        s.*,
        o.record_id AS ordinary_record_id, o.ran_n AS ordinary_ran_n, o.reason AS ordinary_reason,
        o.verification_code AS ordinary_code,
        o.latency_s AS ordinary_latency_s, coalesce(s.in_turns AND o.in_turns, false) AS both_in_turns,
        e.pairs_n, e.effect, e.std_error * t.t AS half_width,
        coalesce(f.floor, 0.03) AS floor,
        list_filter(coalesce(c.calls, []), lambda each: list_contains(s.ops, each.op)) AS still,
        list_filter(coalesce(b.calls, []), lambda each: list_contains(s.ops, each.op) AND each.steady) AS before,
        list_filter(coalesce(c.calls, []), lambda each: each.steady AND NOT list_contains(
            list_transform(coalesce(b.calls, []), lambda old: old.op), each.op)) AS newly
    FROM sides AS s
    LEFT JOIN sides AS o ON o.run_id = s.run_id AND o.result_id = s.ordinary_result_id
    LEFT JOIN called AS c ON c.run_id = s.run_id AND c.result_id = s.result_id
    LEFT JOIN called AS b ON b.run_id = s.run_id AND b.result_id = s.ordinary_result_id
    LEFT JOIN effects AS e ON e.run_id = s.run_id AND e.result_id = s.result_id
    LEFT JOIN t_quantiles AS t ON t.freedom = least(e.pairs_n - 1, 400)
    LEFT JOIN noise_floors AS f
        ON f.machine_id = s.machine_id AND f.experiment_id IS NULL AND f.accelerator = s.accelerator
        AND f.measured = s.measured AND (f.policy = s.policy OR f.policy IS NULL)
    WHERE s.ordinary_id IS NOT NULL
),
reasoned AS (
    SELECT
        *,
        CASE
            WHEN ran_n = 0 THEN 'without the op: ' || coalesce(reason, 'it did not run')
            WHEN coalesce(ordinary_ran_n, 0) = 0 THEN 'with the op: ' || coalesce(ordinary_reason, 'it did not run')
            WHEN len(before) < len(ops) THEN 'not called in steady iterations: ' || array_to_string(
                list_filter(ops, lambda op: NOT list_contains(list_transform(before, lambda each: each.op), op)), ', ')
            WHEN len(still) > 0 THEN 'still falls back although replaced: '
                || array_to_string(list_transform(still, lambda each: each.op), ', ')
            WHEN verification_code = 'FAIL' THEN 'wrong answer without the op: verification FAIL'
            WHEN ordinary_code = 'FAIL' THEN 'wrong answer with the op: verification FAIL'
            WHEN verification_code IS DISTINCT FROM 'PASS' THEN
                'the answer without the op is not verified: ' || coalesce(verification_code, 'unknown')
            WHEN NOT both_in_turns OR pairs_n IS NULL THEN 'the two sides did not take turns'
        END AS payoff_reason
    FROM paired
)
SELECT
    run_id, run_label, run_started, finished_at, experiment_id, record_id, ordinary_id, ordinary_record_id, environment,
    suite, model, test, backend, variant, accelerator, accelerator_model, machine_id, torch, torch_xla, threads, dtype,
    batch_size, requested_batch_size,
    array_to_string(ops, ', ') AS op,
    ops,
    coalesce(list_distinct(list_transform(replacements, lambda each: each.way)), []) AS ways,
    coalesce(list_transform(replacements, lambda each: each.source), []) AS replaced_by,
    list_sum(list_transform(before, lambda each: each.n)) AS replaced_calls_per_iteration,
    list_transform(newly, lambda each: each.op) AS newly_called,
    verification_code, floor,
    coalesce(pairs_n, 0) AS replicas_ran_n,
    latency_s AS without_latency_s,
    ordinary_latency_s AS with_latency_s,
    payoff_reason,
    CASE WHEN payoff_reason IS NULL THEN exp(effect) END AS payoff,
    CASE WHEN payoff_reason IS NULL THEN exp(effect - half_width) END AS payoff_low,
    CASE WHEN payoff_reason IS NULL THEN exp(effect + half_width) END AS payoff_high,
    CASE
        WHEN payoff_reason IS NOT NULL OR half_width IS NULL THEN NULL
        WHEN effect - half_width > 0 AND effect > ln(1 + floor) THEN 1
        WHEN effect + half_width < 0 AND -effect > ln(1 + floor) THEN -1
        ELSE 0
    END AS gain
FROM reasoned;

-- name: fallback_payoffs
-- Grain: one row per result and fallback op that it calls, where the payoff of that op alone was measured: the newest
-- measurement of the same experiment in the same environment, on the same machine, with as many threads, the same batch
-- size and the same versions of torch and PyTorch/XLA. `payoff_run_id` measured it; numbers are those of view payoffs.
CREATE OR REPLACE VIEW fallback_payoffs AS
WITH measured AS (
    SELECT *, series_of(ordinary_id, environment, accelerator_model, machine_id) AS series_id
    FROM payoffs
)
SELECT
    c.run_id, c.result_id, c.experiment_id, c.environment, c.suite, c.model, c.test, c.backend, c.variant,
    c.accelerator, c.dtype, c.op, c.klass,
    p.run_id AS payoff_run_id, p.run_label AS payoff_run_label, p.run_started AS payoff_started,
    p.record_id AS payoff_record_id,
    p.ways, p.replaced_by, p.newly_called, p.replicas_ran_n, p.with_latency_s, p.without_latency_s,
    p.payoff, p.payoff_low, p.payoff_high, p.payoff_reason, p.gain
FROM fallback_calls AS c
JOIN result_rows AS r ON r.run_id = c.run_id AND r.result_id = c.result_id
JOIN measured AS p
    ON p.series_id = r.series_id
    AND p.op = c.op
    AND p.threads IS NOT DISTINCT FROM r.threads
    AND p.batch_size IS NOT DISTINCT FROM r.batch_size
    AND p.torch IS NOT DISTINCT FROM r.torch
    AND p.torch_xla IS NOT DISTINCT FROM r.torch_xla
QUALIFY row_number() OVER (
    PARTITION BY c.run_id, c.result_id, c.op ORDER BY p.run_started DESC, p.run_id
) = 1;
