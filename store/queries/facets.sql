-- Grain: one row per filterable column and value, with the number of results that have it.
SELECT facet, value, count(*) AS results_n
FROM (
    UNPIVOT (SELECT suite, model, backend, test, accelerator, dtype, run_id AS run FROM result_rows)
    ON suite, model, backend, test, accelerator, dtype, run
    INTO NAME facet VALUE value
)
GROUP BY facet, value
ORDER BY facet, value
