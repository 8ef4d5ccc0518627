-- Grain: one row per result with ops that XLA did not lower. `ops` are in order of calls; `only_op` is set where a
-- single op is called in steady iterations: lowering it would leave the model without fallback.
CREATE OR REPLACE VIEW fallback_by_model AS
WITH results_of AS (
    SELECT
        run_id, result_id,
        count(*) AS fallback_ops_n,
        count(*) FILTER (steady) AS steady_ops_n,
        any_value(op) FILTER (steady) AS steady_op,
        count(*) FILTER (klass = 'no_lowering') AS no_lowering_n,
        count(*) FILTER (klass = 'opt_in_lowering') AS opt_in_lowering_n,
        count(*) FILTER (klass = 'host_read') AS host_read_n,
        sum(calls_per_iteration) AS fallback_calls_per_iteration,
        sum(calls_compile)::BIGINT AS calls_compile,
        sum(time_s) AS time_s,
        sum(time_share) AS time_share,
        list(op ORDER BY calls_per_iteration DESC NULLS LAST, op) AS ops
    FROM fallback_calls
    GROUP BY run_id, result_id
)
SELECT
    r.run_id, r.run_label, r.run_started, r.experiment_id, r.record_id, r.suite, r.model, r.test, r.backend, r.variant,
    r.accelerator, r.accelerator_model, r.environment, r.machine_id, r.dtype, r.requested_batch_size, r.status, r.ran,
    o.fallback_ops_n, o.steady_ops_n, o.no_lowering_n, o.opt_in_lowering_n, o.host_read_n,
    o.fallback_calls_per_iteration, o.calls_compile, o.time_s,
    o.time_share, o.ops,
    CASE WHEN o.steady_ops_n = 1 THEN o.steady_op END AS only_op
FROM result_rows AS r
JOIN results_of AS o ON o.run_id = r.run_id AND o.result_id = r.result_id;
