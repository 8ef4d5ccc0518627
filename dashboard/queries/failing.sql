-- Grain: one row per series that fails in the shown run: its state by its newest ten answers up to it (macro
-- failure_states), new, persistent or flaky.
SELECT s.state, r.suite, r.model, r.test, r.accelerator, r.backend, r.dtype, r.variant, r.environment
FROM failure_states(10, until := $until::TIMESTAMP) AS s
JOIN (SELECT * FROM result_rows WHERE /*filters*/) AS r
    ON r.run_id = s.run_id AND r.series_id = s.series_id
WHERE outcome(r.status, r.ran, r.verification_code) = 'F'
ORDER BY r.suite, r.model, r.test, r.variant, r.environment
