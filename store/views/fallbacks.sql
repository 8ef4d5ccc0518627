-- Views of what runs outside the compiled graphs.

-- name: fallback_ops
-- Grain: one row per result and op that XLA did not lower (one per call site where those are known).
CREATE OR REPLACE VIEW fallback_ops AS
SELECT
    r.run_id, r.run_label, r.run_started, r.source, r.result_id, r.experiment_id, r.record_id, r.suite, r.model, r.test,
    r.backend, r.variant, r.accelerator, r.accelerator_model, r.environment, r.machine_id, r.host, r.torch, r.torch_xla, r.dtype,
    r.batch_size, r.requested_batch_size, r.status, r.ran,
    o.op, o.klass, o.calls_per_iteration, o.calls_compile, o.time_s, o.profiled_iteration_s,
    o.call_site
FROM result_rows AS r
JOIN record_fallback_ops AS o ON o.record_id = coalesce(r.detail_record_id, r.record_id);

-- name: fallback_calls
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
        coalesce(list_sort(list_distinct(list(o.call_site))), []) AS call_sites
    FROM result_rows AS r
    JOIN record_fallback_ops AS o ON o.record_id = coalesce(r.detail_record_id, r.record_id)
    GROUP BY ALL
)
SELECT
    *,
    profile_share(time_s, profiled_iteration_s, latency_s) AS time_share,
    steady AND count(*) FILTER (steady) OVER (PARTITION BY run_id, result_id) = 1 AS alone
FROM calls;

-- name: fallback_by_op
-- Grain: one row per run × test × accelerator × backend × variant × environment × op that XLA did not lower; the totals
-- of its rows of fallback_calls (macro fallback_totals).
CREATE OR REPLACE VIEW fallback_by_op AS
SELECT
    run_id, run_label, run_started, test, accelerator, backend, variant, environment, op,
    unnest(totals)
FROM (
    SELECT
        run_id,
        any_value(run_label) AS run_label,
        any_value(run_started) AS run_started,
        test, accelerator, backend, variant, environment, op,
        fallback_totals(c) AS totals
    FROM fallback_calls AS c
    GROUP BY run_id, test, accelerator, backend, variant, environment, op
);

-- name: fallback_by_model
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

-- name: graph_breaks
-- Grain: one row per result and reason for which dynamo split its graph.
CREATE OR REPLACE VIEW graph_breaks AS
SELECT
    r.run_id, r.run_label, r.run_started, r.source, r.result_id, r.experiment_id, r.record_id, r.suite, r.model, r.test,
    r.backend, r.variant, r.accelerator, r.accelerator_model, r.environment, r.machine_id, r.host, r.torch, r.torch_xla, r.dtype,
    r.batch_size, r.requested_batch_size, r.status, r.ran,
    g.reason, g.count
FROM result_rows AS r
JOIN record_graph_breaks AS g ON g.record_id = coalesce(r.detail_record_id, r.record_id);
