-- Grain: one row per suite × model × test of the shown run that passes the filters.
SELECT
    suite, model, test,
    count(*) AS results_n,
    count(*) FILTER (ran) AS ran_n,
    count(*) FILTER (NOT ran AND status NOT IN ('skipped', 'verify_only', 'never_steady', 'disturbed', 'not_run')) AS failed_n,
    string_agg(DISTINCT backend, ', ' ORDER BY backend) AS backends
FROM result_rows
WHERE /*filters*/
GROUP BY suite, model, test
ORDER BY suite, model, test
