-- Grain: one row per result and code of a finding (a measurement warning): why its numbers may be doubted, in how many
-- of its processes, and what to do. `text` is that of the first process.
CREATE OR REPLACE VIEW findings AS
SELECT
    r.run_id, r.run_label, r.run_started, r.result_id, r.experiment_id, r.suite, r.model, r.test, r.backend, r.variant,
    r.accelerator, r.environment, r.machine_id, r.dtype, f.code,
    arg_min(f.text, p.replica) AS text,
    arg_min(f.next_step, p.replica) AS next_step,
    count(DISTINCT p.record_id) AS processes_n
FROM result_rows AS r
JOIN processes() AS p USING (run_id, result_id, attempt)
JOIN record_findings AS f ON f.record_id = p.record_id
GROUP BY ALL;
