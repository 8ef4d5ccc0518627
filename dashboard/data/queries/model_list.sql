-- Grain: one row per suite × model × test of the shown run that passes the filters.
SELECT
    suite, model, test,
    count(*) AS results_n,
    count(*) FILTER (ran) AS ran_n,
    count(*) FILTER (is_failed(ran, status)) AS failed_n,
    string_agg(DISTINCT backend, ', ' ORDER BY backend) AS backends
FROM result_rows
WHERE /*filters*/
GROUP BY suite, model, test
ORDER BY suite, model, test
