-- Grain: as view results.
SELECT *
FROM result_rows
WHERE /*filters*/
ORDER BY run_started DESC, run_id, suite, model, test, variant, environment
