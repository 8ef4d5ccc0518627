-- Grain: one row per run of $runs: the names of its environments, those of confirmations too.
SELECT run_id, list(DISTINCT environment) AS names
FROM (
    SELECT run_id, environment FROM result_rows WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
    UNION ALL
    SELECT run_id, environment FROM records WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND purpose = 'confirmation'
)
GROUP BY run_id
