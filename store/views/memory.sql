-- Grain: one row per result with any memory number. `eager_peak_memory_bytes` is the peak of eager's result of the same run,
-- model, test and settings; `memory_ratio` is eager's peak over the own one: above 1 needs less memory than eager.
CREATE OR REPLACE VIEW memory AS
SELECT
    r.run_id, r.run_label, r.run_started, r.result_id, r.series_id, r.experiment_id, r.record_id, r.suite, r.model,
    r.test, r.backend, r.variant, r.accelerator, r.accelerator_model, r.environment, r.machine_id, r.dtype, r.batch_size,
    r.requested_batch_size, r.status, r.ran, r.peak_memory_bytes, r.setup_peak_memory_bytes,
    e.peak_memory_bytes AS eager_peak_memory_bytes,
    CASE WHEN r.peak_memory_bytes > 0 AND e.peak_memory_bytes > 0
        THEN e.peak_memory_bytes / r.peak_memory_bytes END AS memory_ratio
FROM result_rows AS r
LEFT JOIN result_rows AS e
    ON e.run_id = r.run_id AND e.suite = r.suite AND e.model = r.model AND e.test = r.test
    AND e.accelerator = r.accelerator AND e.settings_id = r.settings_id AND e.variant = 'eager' AND e.ran
    AND e.accelerator_model IS NOT DISTINCT FROM r.accelerator_model
    AND e.machine_id IS NOT DISTINCT FROM r.machine_id
    AND e.batch_size IS NOT DISTINCT FROM r.batch_size
WHERE coalesce(r.peak_memory_bytes, r.setup_peak_memory_bytes) IS NOT NULL;
