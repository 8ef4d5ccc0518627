-- Grain: one row per backend of the shown run: how many of its results ran, and how many called a fallback op.
SELECT
    backend,
    count(*) FILTER (WHERE ran) AS ran_n,
    count(*) FILTER (WHERE ran AND fallback_ops_n > 0) AS with_ops_n,
    count(*) AS planned_n
FROM result_rows
WHERE /*filters*/
GROUP BY backend
ORDER BY backend
