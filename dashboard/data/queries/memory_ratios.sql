-- Grain: one row per series without the model, of the shown run: the geometric mean of its valid results' memory ratios
-- (view memory: eager's peak over the own one) and how many models have one. The keys are those of macro geomeans.
SELECT
    r.suite, r.test, r.accelerator, r.accelerator_model, r.machine_id, r.environment, r.dtype, r.requested_batch_size,
    r.optimizer, r.loss, r.matmul_precision, r.workload, r.backend, r.variant,
    exp(avg(ln(m.memory_ratio))) AS memory_ratio,
    count(m.memory_ratio) AS memory_n
FROM (SELECT * FROM result_rows WHERE /*filters*/) AS r
JOIN memory AS m
    ON m.run_id = $run AND m.run_id = r.run_id AND m.result_id = r.result_id
WHERE m.memory_ratio IS NOT NULL AND r.variant <> 'eager'
    AND is_valid(r.ran, r.verification_code)
GROUP BY ALL
