-- Grain: as view findings, for a run, with the record of each result: its measurement warnings.
WITH processes AS MATERIALIZED (
    SELECT record_id, result_id, attempt
    FROM processes()
    WHERE run_id = $run
),
-- One pass over the findings of all runs; the view's joins take three times as long over three years of runs.
found AS MATERIALIZED (
    SELECT record_id, code FROM record_findings WHERE record_id IN (SELECT record_id FROM processes)
)
SELECT DISTINCT r.record_id, f.code
FROM found AS f
JOIN processes AS p USING (record_id)
JOIN result_rows AS r ON r.run_id = $run AND r.result_id = p.result_id AND r.attempt = p.attempt
ORDER BY r.record_id, f.code
