-- Grain: one row per op that XLA did not lower × result of the runs $runs on the accelerator $accelerator.
SELECT
    run_id, experiment_id, coalesce(environment, 'default') AS environment, model, test, variant, op,
    any_value(klass) AS klass,
    sum(calls_per_iteration) AS calls_per_iteration
FROM fallback_ops
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND accelerator = $accelerator
GROUP BY ALL
ORDER BY op, test, variant, model
