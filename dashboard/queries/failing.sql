-- Grain: one row per state of the series that fail in the shown run, by their newest ten answers up to it (macro
-- failure_states): new, persistent or flaky.
SELECT s.state, count(*) AS series_n, list(DISTINCT s.model ORDER BY s.model) AS models
FROM failure_states(10, until := $until::TIMESTAMP) AS s
JOIN (SELECT * FROM result_rows WHERE /*filters*/) AS r
    ON r.run_id = s.run_id AND r.series_id = s.series_id
WHERE outcome(r.status, r.ran, r.verification_code) = 'F'
GROUP BY s.state
ORDER BY s.state
