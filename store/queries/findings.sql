-- Grain: one row per code of a finding in these runs, results and confirmations alike.
WITH found AS (
    SELECT run_id, experiment_id, environment, model, test, variant, code, text, next_step
    FROM findings
    WHERE list_contains($runs::VARCHAR[], run_id)
    UNION ALL
    SELECT
        r.run_id, r.experiment_id, r.environment, any_value(r.model), any_value(r.test), any_value(r.variant), f.code,
        arg_min(f.text, r.replica), arg_min(f.next_step, r.replica)
    FROM records AS r
    JOIN record_findings AS f USING (record_id)
    WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[])) AND r.purpose = 'confirmation'
    GROUP BY r.run_id, r.experiment_id, r.environment, f.code
)
SELECT
    code,
    count(*) AS results_n,
    min_by(model || ' ' || test || ' ' || variant || ': ' || text, row(model, test, variant, environment)) AS example,
    min_by(next_step, row(model, test, variant, environment)) AS next_step
FROM found
GROUP BY code
ORDER BY results_n DESC, code
