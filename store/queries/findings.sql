-- Grain: one row per code of a finding in these runs, results and confirmations alike.
WITH found AS (
    -- As view findings has them, which would be made of all runs.
    SELECT
        r.run_id, r.experiment_id, r.environment, r.model, r.test, r.variant, f.code,
        arg_min(f.text, p.replica) AS text, arg_min(f.next_step, p.replica) AS next_step
    FROM result_rows AS r
    JOIN processes() AS p USING (run_id, result_id, attempt)
    JOIN record_findings AS f ON f.record_id = p.record_id
    WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[])) AND p.run_id IN (SELECT unnest($runs::VARCHAR[]))
    GROUP BY ALL
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
    min_by(model || ' ' || test || ' ' || variant || ': ' || text, row(model, test, variant, environment, run_id, experiment_id)) AS example,
    min_by(next_step, row(model, test, variant, environment, run_id, experiment_id)) AS next_step
FROM found
GROUP BY code
ORDER BY results_n DESC, code
