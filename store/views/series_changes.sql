-- Grain: one row per confirmed change of a series' latency within one of its epochs (table change_points), with the words
-- of the series. `change_ratio` is latency after / before: above 1 is slower.
CREATE OR REPLACE VIEW series_changes AS
SELECT
    c.series_id, c.epoch, r.suite, r.model, r.test, r.accelerator, r.accelerator_model, r.backend, r.variant,
    r.environment, r.machine_id, r.dtype, r.requested_batch_size, r.optimizer, r.loss, r.matmul_precision, r.workload,
    c.run_before, c.run_after, r.run_label, c.started_before, c.started_after, c.latency_before_s, c.latency_after_s,
    c.change_ratio, c.change_low, c.change_high, c.before_n, c.after_n, c.p_value
FROM change_points AS c
JOIN result_rows AS r ON r.run_id = c.run_after AND r.series_id = c.series_id;
