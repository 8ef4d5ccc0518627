-- Grain: as view compile_times.
SELECT *
FROM compile_times
WHERE /*filters*/
ORDER BY run_started DESC, run_id, suite, model, test, variant, environment
