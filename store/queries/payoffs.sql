-- Grain: as view payoffs; without $run the newest measurement of each series and op, its versions whatever they are.
-- Measured payoffs first, the largest on top.
SELECT *
FROM payoffs
WHERE /*filters*/
QUALIFY len($run::VARCHAR[]) > 0 OR row_number() OVER (
    PARTITION BY experiment_id, environment, machine_id, accelerator_model ORDER BY run_started DESC, run_id
) = 1
ORDER BY payoff DESC NULLS LAST, suite, model, test, variant, environment
