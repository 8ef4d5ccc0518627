-- Grain: one row per op and configuration that results of the shown run call without a profile, and that a profile of the
-- same model, test, backend, settings and device in another run knows: what lowering the op saves of an iteration at most
-- there, as in fallback_ranking. The most saved comes first. The other run's environment may have another name.
-- The tables under view fallback_calls: the view itself would be computed for every run of the store.
WITH unknown AS (
    SELECT DISTINCT
        op, suite, model, test, backend, variant, accelerator, accelerator_model, dtype,
        settings_of(NULL, dtype, requested_batch_size, optimizer, loss, matmul_precision, workload) AS settings
    FROM fallback_calls
    WHERE time_s IS NULL AND /*filters*/
)
SELECT
    u.op, u.suite, u.model, u.test, u.backend, u.accelerator, u.dtype, r.run_label, r.run_started,
    least(o.time_s, coalesce(o.profiled_iteration_s, r.latency_s)) AS saved_s
FROM record_fallback_ops AS o
JOIN result_rows AS r ON r.detail_record_id = o.record_id
JOIN unknown AS u
    ON u.op = o.op AND u.suite = r.suite AND u.model = r.model AND u.test = r.test AND u.variant = r.variant
    AND u.accelerator = r.accelerator AND u.accelerator_model IS NOT DISTINCT FROM r.accelerator_model
    AND u.settings = settings_of(
        NULL, r.dtype, r.requested_batch_size, r.optimizer, r.loss, r.matmul_precision, r.workload
    )
WHERE o.time_s IS NOT NULL AND r.run_id <> $run
QUALIFY row_number() OVER (
    PARTITION BY u.op, u.suite, u.model, u.test, u.backend, u.variant, u.accelerator, u.accelerator_model, u.settings
    ORDER BY saved_s DESC NULLS LAST, r.run_started DESC, r.run_id
) = 1
ORDER BY saved_s DESC NULLS LAST, u.op, u.suite, u.model, u.test, u.variant, u.dtype
