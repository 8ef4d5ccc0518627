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
