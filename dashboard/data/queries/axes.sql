-- Grain: one row per environment and per variant that ran in the shown run, where it has several of the kind.
SELECT kind, name
FROM (
    SELECT DISTINCT 'environment' AS kind, environment AS name FROM result_rows WHERE run_id = $run AND ran
    UNION ALL
    SELECT DISTINCT 'backend', variant FROM result_rows WHERE run_id = $run AND ran
)
WHERE name IS NOT NULL
QUALIFY count(*) OVER (PARTITION BY kind) > 1
ORDER BY kind DESC, name
