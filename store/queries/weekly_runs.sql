-- Grain: one row per run and accelerator on which it had something to run, the newest first.
SELECT
    run_id, accelerator,
    any_value(run_label) AS label,
    any_value(run_started) AS started,
    any_value(accelerator_model) AS accelerator_model,
    any_value(machine_id) AS machine_id,
    any_value(host) AS host,
    count(*) AS planned_n
FROM result_rows
GROUP BY run_id, accelerator
HAVING count(*) FILTER (status <> 'skipped') > 0
ORDER BY started DESC, run_id DESC
