-- Grain: one row per run of $runs × test × variant on the accelerator $accelerator: how many experiments passed.
SELECT
    run_id, run_started, test, backend, variant,
    count(*) AS planned_n,
    count(*) FILTER (outcome(status, ran, verification_code) = 'P') AS passed_n
FROM result_rows
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND accelerator = $accelerator
GROUP BY ALL
ORDER BY run_started, test, variant
