-- Grain: one row per run of $runs: the names of its environments, those of confirmations too.
SELECT run_id, list(DISTINCT environment) AS names
FROM (
    SELECT run_id, environment FROM result_rows WHERE list_contains($runs::VARCHAR[], run_id)
    UNION ALL
    SELECT run_id, environment FROM records WHERE list_contains($runs::VARCHAR[], run_id) AND purpose = 'confirmation'
)
GROUP BY run_id
