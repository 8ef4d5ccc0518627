-- Grain: one row per operator whose op is $op and run of the store that has a result of it, from the newest run on.
SELECT
    split_part(model, '(', 1) AS operator, run_id, any_value(run_label) AS run_label, run_started,
    count(DISTINCT model) AS calls_n, count(*) FILTER (ran) AS ran_n, run_id = $run AS shown
FROM result_rows
WHERE suite = 'operators' AND operator_key(model) = operator_key($op::VARCHAR)
GROUP BY operator, run_id, run_started
HAVING count(*) FILTER (ran) > 0
ORDER BY shown DESC, run_started DESC, operator
