-- Grain: one row per code of a finding in these runs.
SELECT
    code,
    count(*) AS results_n,
    min_by(model || ' ' || test || ' ' || variant || ': ' || text, model) AS example,
    min_by(next_step, model) AS next_step
FROM findings
WHERE list_contains($runs::VARCHAR[], run_id)
GROUP BY code
ORDER BY results_n DESC, code
