-- Grain: one row per result of the shown run, with how many fallback ops it called.
SELECT suite, model, test, backend, accelerator, dtype, ran, fallback_ops_n
FROM result_rows
WHERE /*filters*/
