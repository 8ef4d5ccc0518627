-- Grain: run x accelerator x its model, of the results that fit; the newest run first.
SELECT DISTINCT run_id, run_started, accelerator, accelerator_model
FROM result_rows
WHERE /*filters*/
ORDER BY run_started DESC, run_id, accelerator, accelerator_model
