-- Queries of page Operators.

-- name: operators
-- Grain: as macro operator_speedups, for the shown run; $named narrows it to one operator.
SELECT *
FROM operator_speedups(
    $baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR
)
WHERE ($named::VARCHAR IS NULL OR operator = $named) AND /*filters*/
ORDER BY operator, model, test, accelerator, variant, environment

-- name: operator_totals
-- Grain: as view operator_totals, for the shown run; the filters of backend and accelerator choose among its rows.
SELECT *
FROM operator_totals
WHERE run_id = $run
    AND (len($backend::VARCHAR[]) = 0 OR list_contains($backend::VARCHAR[], backend))
    AND (len($accelerator::VARCHAR[]) = 0 OR list_contains($accelerator::VARCHAR[], accelerator))
ORDER BY of_model, of_test, accelerator, variant, environment

-- name: operator_fallbacks
-- Grain: one row per fallback op whose op is that of operator $op, over the results of the shown run, whatever filters say:
-- models are those that call it, operators themselves left out.
SELECT
    op, any_value(klass) AS klass,
    coalesce(len(list_distinct(list((suite, model)) FILTER (suite <> 'operators'))), 0) AS models_n,
    coalesce(len(list_distinct(list(model) FILTER (suite = 'operators'))), 0) AS operators_n
FROM fallback_calls
WHERE run_id = $run AND operator_key(op) = operator_key($op::VARCHAR)
GROUP BY op
ORDER BY op

-- name: operator_newest_run
-- Grain: the newest run of the store that measured operators; no row where none did.
SELECT run_id, any_value(run_label) AS run_label, run_started, count(DISTINCT model) AS operators_n
FROM result_rows
WHERE suite = 'operators'
GROUP BY run_id, run_started
HAVING count(*) FILTER (ran) > 0
ORDER BY run_started DESC
LIMIT 1
