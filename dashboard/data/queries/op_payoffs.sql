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
