-- Grain: one row per fallback op whose op is that of operator $op, over the results of the shown run, whatever filters say:
-- models are those that call it, operators themselves left out.
SELECT
    op, any_value(klass) AS klass,
    count(DISTINCT (suite, model)) FILTER (suite <> 'operators') AS models_n,
    count(DISTINCT model) FILTER (suite = 'operators') AS operators_n
FROM fallback_calls
WHERE run_id = $run AND operator_key(op) = operator_key($op::VARCHAR)
GROUP BY op
ORDER BY op
