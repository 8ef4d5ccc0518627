-- Grain: one row per run × test × accelerator × series of an XLA backend, of the newest $most_runs runs: how many of the models
-- that ran called op $op, and its calls per iteration and share of time in the result with most. A run in which models ran
-- and none called it has 0: the op is gone there.
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
    count(DISTINCT (r.suite, r.model)) FILTER (r.ran) AS ran_n,
    count(DISTINCT (r.suite, r.model)) FILTER (c.record_id IS NOT NULL) AS models_n,
    max(c.calls_per_iteration) AS calls_per_iteration,
    max(profile_share(c.time_s, c.profiled_iteration_s, r.latency_s)) AS time_share
FROM result_rows AS r
LEFT JOIN called AS c ON c.record_id = r.detail_record_id AND r.ran
WHERE r.run_id IN (FROM newest)
    AND (starts_with(r.backend, 'openxla') OR starts_with(r.backend, 'torchxla'))
    AND /*filters without run*/
GROUP BY r.run_id, r.test, r.accelerator, r.backend, r.variant, r.environment
HAVING ran_n > 0
ORDER BY run_started, r.run_id, r.test, r.variant
