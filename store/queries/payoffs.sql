-- Grain: as view payoffs; without $run the newest measurement of each series and op, its versions whatever they are.
-- Measured payoffs first, the largest on top.
SELECT *
FROM payoffs
WHERE (len($suite::VARCHAR[]) = 0 OR list_contains($suite::VARCHAR[], suite))
    AND (len($model::VARCHAR[]) = 0 OR list_contains($model::VARCHAR[], model))
    AND (len($backend::VARCHAR[]) = 0 OR list_contains($backend::VARCHAR[], backend))
    AND (len($test::VARCHAR[]) = 0 OR list_contains($test::VARCHAR[], test))
    AND (len($accelerator::VARCHAR[]) = 0 OR list_contains($accelerator::VARCHAR[], accelerator))
    AND (len($dtype::VARCHAR[]) = 0 OR list_contains($dtype::VARCHAR[], dtype))
    AND (len($run::VARCHAR[]) = 0 OR list_contains($run::VARCHAR[], run_id))
QUALIFY len($run::VARCHAR[]) > 0 OR row_number() OVER (
    PARTITION BY experiment_id, environment, machine_id, accelerator_model ORDER BY run_started DESC, run_id
) = 1
ORDER BY payoff DESC NULLS LAST, suite, model, test, variant, environment
