-- Queries of the weekly review.

-- name: weekly_attempts
-- Grain: one row per experiment and environment of run $run: how many attempts failed, and whether one passed.
SELECT experiment_id, environment, count(*) FILTER (failed AND NOT passed) AS failed_n, bool_or(passed) AS passed
FROM (
    SELECT
        experiment_id, coalesce(environment, 'default') AS environment, attempt,
        coalesce(bool_or(outcome(status, ran, verification_code) = 'P'), false) AS passed,
        coalesce(bool_or(outcome(status, ran, verification_code) = 'F'), false) AS failed
    FROM processes()
    WHERE run_id = $run
    GROUP BY ALL
)
GROUP BY experiment_id, environment

-- name: weekly_confirmations
-- Grain: one row per confirming run after $since × environment, with what it says of the environment; the newest run first.
SELECT c.run_id, c.started, e.environment, e.facts
FROM (
    SELECT run_id, any_value(run_started) AS started
    FROM records
    WHERE purpose = 'confirmation' AND run_started >= $since
    GROUP BY run_id
) AS c
JOIN (SELECT DISTINCT run_id, environment, facts FROM run_environments) AS e USING (run_id)
ORDER BY c.started DESC, c.run_id, e.environment

-- name: weekly_environments
-- Grain: one row per environment of the runs $runs, with what its run.json says of it; of a run without one, what its
-- records say.
SELECT e.run_id, e.environment, e.facts
FROM run_environments AS e
JOIN latest_run_files AS f ON f.path = e.path
WHERE e.run_id IN (SELECT unnest($runs::VARCHAR[]))
UNION ALL
SELECT
    run_id, coalesce(environment, 'default'),
    json_object('torch', any_value(torch), 'torch_xla', any_value(torch_xla))
FROM result_rows
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND NOT plan_known
GROUP BY ALL
ORDER BY ALL

-- name: weekly_fallbacks
-- Grain: one row per op that XLA did not lower × result of the runs $runs on the accelerator $accelerator.
SELECT
    run_id, experiment_id, coalesce(environment, 'default') AS environment, model, test, variant, op,
    any_value(klass) AS klass,
    sum(calls_per_iteration) AS calls_per_iteration
FROM fallback_ops
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND accelerator = $accelerator
GROUP BY ALL
ORDER BY op, test, variant, model

-- name: weekly_history
-- Grain: one row per run of $runs × test × variant on the accelerator $accelerator: how many experiments passed.
SELECT
    run_id, run_started, test, backend, variant,
    count(*) AS planned_n,
    count(*) FILTER (outcome(status, ran, verification_code) = 'P') AS passed_n
FROM result_rows
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND accelerator = $accelerator
GROUP BY ALL
ORDER BY run_started, test, variant

-- name: weekly_payoffs
-- Grain: one row per result of the runs $runs on the accelerator $accelerator and fallback op that it calls, whose payoff
-- was measured: as view fallback_payoffs, the largest proven gain first.
SELECT
    run_id, suite, model, test, backend, variant, environment, accelerator, op, ways, newly_called, replicas_ran_n,
    payoff, payoff_low, payoff_high, payoff_reason, gain, payoff_run_id, payoff_run_label, payoff_started
FROM fallback_payoffs
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND accelerator = $accelerator AND klass <> 'host_read'
ORDER BY gain DESC NULLS LAST, payoff DESC NULLS LAST, op, suite, model, test, variant, environment

-- name: weekly_results
-- Grain: one row per result of the runs $runs on the accelerator $accelerator.
SELECT
    run_id, experiment_id, coalesce(environment, 'default') AS environment, suite, model, test, accelerator, backend,
    variant, dtype, requested_batch_size, optimizer, loss, matmul_precision, workload, status,
    outcome(status, ran, verification_code) AS outcome, ran, verification_code, failure_phase, reason, error_signature,
    attempt, graphs_number, graph_breaks_n, reproduce, series_id, verification_run_id
FROM result_rows
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND accelerator = $accelerator
ORDER BY suite, model, test, variant, environment

-- name: weekly_runs
-- Grain: one row per run and accelerator on which it had something to run, the newest first.
SELECT
    run_id, accelerator,
    any_value(run_label) AS label,
    any_value(run_started) AS started,
    any_value(accelerator_model) AS accelerator_model,
    any_value(machine_id) AS machine_id,
    any_value(host) AS host,
    count(*) AS planned_n
FROM result_rows
GROUP BY run_id, accelerator
HAVING count(*) FILTER (status <> 'skipped') > 0
ORDER BY started DESC, run_id DESC

-- name: weekly_speedups
-- Grain: one row per result of the runs $run that has a speedup, the baseline's own left out. `measured` is the key of the
-- machine, the epochs of both and how it was measured (macro measured_as): speedups of two runs are compared only where it is equal.
SELECT
    run_id, experiment_id, coalesce(environment, 'default') AS environment, suite, test, variant, dtype,
    requested_batch_size, optimizer, loss, matmul_precision, workload, speedup, policy,
    to_json([
        machine_id, accelerator_model, measured_as(batch_size, threads, iterations_per_run, start, instrumented),
        epoch_at(begins, run_started)::VARCHAR, baseline_epoch::VARCHAR
    ])::VARCHAR AS measured
FROM speedups($baseline_backend::VARCHAR, $baseline_run::VARCHAR, runs := $run::VARCHAR[])
LEFT JOIN epochs USING (series_id)
WHERE speedup > 0 AND variant IS DISTINCT FROM baseline_variant AND /*filters*/
ORDER BY run_started DESC, run_id, suite, model, test, variant, environment

-- name: weekly_states
-- Grain: one row per series that fails or has failed among its newest 10 answers up to $until: as macro failure_states.
SELECT series_id, state, failed_n, answered_n, pattern, pattern_started, since_run_id, since_started
FROM failure_states(10, until := $until)
WHERE failed_n > 0

-- name: weekly_steps
-- Grain: as macro geomean_steps, of the runs $run, over the models that are asked for.
SELECT *
FROM geomean_steps(
    $baseline_backend::VARCHAR,
    $baseline_run::VARCHAR,
    $run::VARCHAR[],
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END
)
WHERE /*filters without model*/
ORDER BY run_id, suite, test, accelerator, variant, environment

-- name: weekly_structure
-- Grain: as macro structural_differences, from run $last to run $now, on the accelerator $accelerator.
SELECT
    experiment_id, suite, model, test, variant, environment, kind, graphs_a, graphs_b, ops_a, ops_b, fusions_a, fusions_b,
    changed_n
FROM structural_differences($last::VARCHAR, $now::VARCHAR)
WHERE accelerator = $accelerator
ORDER BY suite, model, test, variant, environment, kind
