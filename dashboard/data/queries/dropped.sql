-- Grain: as view dropped: one row per label and series that its newest run does not plan, over the filtered series.
SELECT
    run_label, suite, model, test, accelerator, backend, variant, environment, machine_id, dtype, requested_batch_size,
    seen_n, missing_n, last_run_id, last_started, last_status, newest_run_id, newest_started, series_id
FROM dropped
WHERE /*filters without run*/
ORDER BY missing_n, run_label, suite, model, test, variant
