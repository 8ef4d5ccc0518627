-- Grain: the newest run of the store that measured operators; no row where none did.
SELECT run_id, any_value(run_label) AS run_label, run_started, count(DISTINCT model) AS operators_n
FROM result_rows
WHERE suite = 'operators'
GROUP BY run_id, run_started
HAVING count(*) FILTER (ran) > 0
ORDER BY run_started DESC
LIMIT 1
