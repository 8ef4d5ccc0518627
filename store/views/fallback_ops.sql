-- Grain: one row per result and op that XLA did not lower (one per call site where those are known).
CREATE OR REPLACE VIEW fallback_ops AS
SELECT
    r.run_id, r.run_label, r.run_started, r.source, r.result_id, r.experiment_id, r.record_id, r.suite, r.model, r.test,
    r.backend, r.variant, r.accelerator, r.accelerator_model, r.environment, r.machine_id, r.host, r.torch, r.torch_xla, r.dtype,
    r.batch_size, r.requested_batch_size, r.status, r.ran,
    o.op, o.klass, o.calls_per_iteration, o.calls_compile, o.time_s, o.profiled_iteration_s,
    o.call_site
FROM result_rows AS r
JOIN record_fallback_ops AS o ON o.record_id = r.detail_record_id;
