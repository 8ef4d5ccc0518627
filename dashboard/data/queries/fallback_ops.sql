-- Queries of page Fallback ops.

-- name: fallback_ops
-- Grain: as view fallback_ops, for the shown run.
SELECT * EXCLUDE (result_id)
FROM fallback_ops
WHERE /*filters*/
ORDER BY suite, model, test, variant, environment, op

-- name: fallback_calls
-- Grain: as view fallback_calls, for the shown run, with the samples behind each latency; $op narrows it to one op, $klass to
-- one class of ops.
SELECT * EXCLUDE (result_id)
FROM fallback_calls
LEFT JOIN (SELECT record_id, steady_n FROM result_rows WHERE run_id = $run) AS samples USING (record_id)
WHERE ($op::VARCHAR IS NULL OR op = $op) AND ($klass::VARCHAR IS NULL OR klass = $klass) AND /*filters*/
ORDER BY suite, model, test, variant, environment, op

-- name: fallback_coverage
-- Grain: one row per result of the shown run, with how many fallback ops it called.
SELECT suite, model, test, backend, accelerator, dtype, ran, fallback_ops_n
FROM result_rows
WHERE /*filters*/

-- name: graph_breaks
-- Grain: as view graph_breaks, for the shown run.
SELECT * EXCLUDE (result_id)
FROM graph_breaks
WHERE /*filters*/
ORDER BY suite, model, test, variant, environment, reason

-- name: known_ops
-- Grain: one row per op that any record of the store called on the host.
SELECT DISTINCT op
FROM record_fallback_ops
ORDER BY op

-- name: op_history
-- Grain: one row per run × test × accelerator × series of an XLA backend, of the newest $most_runs runs: how many of the models
-- that ran called op $op, and its calls per iteration and share of time in the result with most. A run in which models ran
-- and none called it has 0: the op is gone there. Models of which other tools' records do not count the calls are left out.
WITH newest AS (
    SELECT run_id
    FROM result_rows
    WHERE starts_with(backend, 'openxla') OR starts_with(backend, 'torchxla')
    GROUP BY run_id
    ORDER BY max(run_started) DESC
    LIMIT $most_runs
),
called AS (
    SELECT
        record_id,
        sum(calls_per_iteration) AS calls_per_iteration,
        max(time_s) AS time_s,
        max(profiled_iteration_s) AS profiled_iteration_s
    FROM record_fallback_ops
    WHERE op = $op
    GROUP BY record_id
)
SELECT
    r.run_id,
    any_value(r.run_label) AS run_label,
    any_value(r.run_started) AS run_started,
    any_value(r.torch) AS torch,
    any_value(r.torch_xla) AS torch_xla,
    r.test, r.accelerator, r.backend, r.variant, r.environment,
    count(DISTINCT (r.suite, r.model)) FILTER (r.ran AND r.fallback_ops_n IS NOT NULL) AS ran_n,
    count(DISTINCT (r.suite, r.model)) FILTER (c.record_id IS NOT NULL) AS models_n,
    max(c.calls_per_iteration) AS calls_per_iteration,
    max(profile_share(c.time_s, c.profiled_iteration_s, r.latency_s)) AS time_share
FROM result_rows AS r
LEFT JOIN called AS c ON c.record_id = coalesce(r.detail_record_id, r.record_id) AND r.ran
WHERE r.run_id IN (FROM newest)
    AND (starts_with(r.backend, 'openxla') OR starts_with(r.backend, 'torchxla'))
    AND /*filters without run*/
GROUP BY r.run_id, r.test, r.accelerator, r.backend, r.variant, r.environment
HAVING ran_n > 0
ORDER BY run_started, r.run_id, r.test, r.variant

-- name: op_payoffs
-- Grain: one row per result of the shown run that calls op $op, with what was measured without it, if anything was: as view
-- fallback_payoffs.
WITH gains AS (
    SELECT * FROM fallback_payoffs WHERE op = $op AND /*filters*/
)
SELECT
    c.run_id, c.experiment_id, c.environment, c.suite, c.model, c.test, c.backend, c.variant, c.accelerator, c.dtype,
    c.klass, c.steady,
    g.* EXCLUDE (
        run_id, result_id, experiment_id, environment, suite, model, test, backend, variant, accelerator, dtype, op, klass
    )
FROM (SELECT * FROM fallback_calls WHERE op = $op AND /*filters*/) AS c
LEFT JOIN gains AS g ON g.run_id = c.run_id AND g.result_id = c.result_id
ORDER BY g.payoff DESC NULLS LAST, c.suite, c.model, c.test, c.variant, c.environment

-- name: operator_runs
-- Grain: one row per operator whose op is $op and run of the store that has a result of it, from the newest run on.
SELECT
    split_part(model, '(', 1) AS operator, run_id, any_value(run_label) AS run_label, run_started,
    count(DISTINCT model) AS calls_n, count(*) FILTER (ran) AS ran_n, run_id = $run AS shown
FROM result_rows
WHERE suite = 'operators' AND operator_key(model) = operator_key($op::VARCHAR)
GROUP BY operator, run_id, run_started
HAVING count(*) FILTER (ran) > 0
ORDER BY shown DESC, run_started DESC, operator

-- name: profiles_of_others
-- Grain: one row per op and configuration that results of the shown run call without a profile, and that a profile of the
-- same model, test, backend, settings and device in another run knows: what lowering the op saves of an iteration at most
-- there, as in fallback_ranking. The most saved comes first. The other run's environment may have another name.
-- The tables under view fallback_calls: the view itself would be computed for every run of the store.
WITH unknown AS (
    SELECT DISTINCT
        op, suite, model, test, backend, variant, accelerator, accelerator_model, dtype,
        settings_of(NULL, dtype, requested_batch_size, optimizer, loss, matmul_precision, workload) AS settings
    FROM fallback_calls
    WHERE time_s IS NULL AND /*filters*/
)
SELECT
    u.op, u.suite, u.model, u.test, u.backend, u.accelerator, u.dtype, r.run_label, r.run_started,
    least(o.time_s, coalesce(o.profiled_iteration_s, r.latency_s)) AS saved_s
FROM record_fallback_ops AS o
JOIN result_rows AS r ON coalesce(r.detail_record_id, r.record_id) = o.record_id
JOIN unknown AS u
    ON u.op = o.op AND u.suite = r.suite AND u.model = r.model AND u.test = r.test AND u.variant = r.variant
    AND u.accelerator = r.accelerator AND u.accelerator_model IS NOT DISTINCT FROM r.accelerator_model
    AND u.settings = settings_of(
        NULL, r.dtype, r.requested_batch_size, r.optimizer, r.loss, r.matmul_precision, r.workload
    )
WHERE o.time_s IS NOT NULL AND r.run_id <> $run
QUALIFY row_number() OVER (
    PARTITION BY u.op, u.suite, u.model, u.test, u.backend, u.variant, u.accelerator, u.accelerator_model, u.settings
    ORDER BY saved_s DESC NULLS LAST, r.run_started DESC, r.run_id
) = 1
ORDER BY saved_s DESC NULLS LAST, u.op, u.suite, u.model, u.test, u.variant, u.dtype
