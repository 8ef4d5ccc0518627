-- Grain: one row per series that fails in the shown run: its state by its newest ten answers up to it (macro
-- failure_states), new, persistent or flaky.
WITH failing AS (
    SELECT *
    FROM result_rows
    WHERE outcome(status, ran, verification_code) = 'F' AND /*filters*/
)
SELECT s.state, r.suite, r.model, r.test, r.accelerator, r.backend, r.dtype, r.variant, r.environment
FROM failure_states(
    10, until := $until::TIMESTAMP, series := (SELECT coalesce(list(series_id), []) FROM failing)
) AS s
JOIN failing AS r ON r.run_id = s.run_id AND r.series_id = s.series_id
ORDER BY r.suite, r.model, r.test, r.variant, r.environment
