-- Grain: one row per result and reason for which dynamo split its graph.
CREATE OR REPLACE VIEW graph_breaks AS
SELECT
    r.run_id, r.run_label, r.run_started, r.source, r.result_id, r.experiment_id, r.record_id, r.suite, r.model, r.test,
    r.backend, r.variant, r.accelerator, r.accelerator_model, r.environment, r.machine_id, r.host, r.torch, r.torch_xla, r.dtype,
    r.batch_size, r.requested_batch_size, r.status, r.ran,
    g.reason, g.count
FROM result_rows AS r
JOIN record_graph_breaks AS g ON g.record_id = r.detail_record_id;
