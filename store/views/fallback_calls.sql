-- Grain: one row per result and op that XLA did not lower; call sites of an op are one row. `steady`: it is called in
-- steady iterations, or nobody counted; `alone`: no other op is, so lowering it would leave the result without fallback.
CREATE OR REPLACE VIEW fallback_calls AS
WITH calls AS (
    SELECT
        r.run_id, r.run_label, r.run_started, r.result_id, r.experiment_id, r.record_id, r.suite, r.model, r.test,
        r.backend, r.variant, r.accelerator, r.accelerator_model, r.environment, r.machine_id, r.dtype, r.requested_batch_size,
        r.optimizer, r.loss, r.matmul_precision, r.workload, r.status, r.ran, r.latency_s, r.graph_breaks_n,
        r.fallback_ops_n, o.op,
        any_value(o.klass) AS klass,
        sum(o.calls_per_iteration) AS calls_per_iteration,
        sum(o.calls_compile)::BIGINT AS calls_compile,
        max(o.time_s) AS time_s,
        max(o.profiled_iteration_s) AS profiled_iteration_s,
        coalesce(sum(o.calls_per_iteration) > 0, true) AS steady,
        coalesce(list(DISTINCT o.call_site ORDER BY o.call_site) FILTER (o.call_site IS NOT NULL), []) AS call_sites
    FROM result_rows AS r
    JOIN record_fallback_ops AS o ON o.record_id = r.detail_record_id
    GROUP BY ALL
)
SELECT
    *,
    profile_share(time_s, profiled_iteration_s, latency_s) AS time_share,
    steady AND count(*) FILTER (steady) OVER (PARTITION BY run_id, result_id) = 1 AS alone
FROM calls;
