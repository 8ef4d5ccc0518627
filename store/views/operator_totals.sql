-- Grain: one row per run × model whose operators it measured × test of it × accelerator × environment × variant: the
-- sum of calls x time over its operators, and the model's own latency there. `measured_n` of `operators_n` operators
-- have a time. A compiler fuses operators, so the sum is not a part of the model's latency.
CREATE OR REPLACE VIEW operator_totals AS
SELECT
    run_id, of_model, of_test, accelerator, environment, backend, variant,
    count(*) AS operators_n,
    count(calls_s) AS measured_n,
    sum(calls)::BIGINT AS calls,
    sum(calls_s) AS calls_s,
    any_value(model_latency_s) AS model_latency_s,
    sum(calls_s) / nullif(any_value(model_latency_s), 0) AS model_share
FROM operators
WHERE of_model IS NOT NULL
GROUP BY run_id, of_model, of_test, accelerator, environment, backend, variant;
