-- Grain: as results. The fields in which two results must agree before their latencies may be divided, as text; NULL is
-- unknown. xlabench's own records have NULL for a setting that is not used, which is a known value. `place` is the
-- position of the row in result_rows, in this snapshot only. Of a `known` result there is a latency, or bounds of one.
CREATE OR REPLACE VIEW comparable AS
SELECT
    rowid AS place, run_id, run_started, series_id, result_id, settings_id, experiment_id, environment, record_id,
    suite, model, test, accelerator, backend, variant, status, reason,
    dtype, requested_batch_size, optimizer, loss, matmul_precision, workload, attempt,
    steady_n, latency_s, latency_low_s, latency_high_s, time_to_steady_s, verification_code, at_least_s, at_most_s,
    is_valid(ran, verification_code) AS valid,
    is_valid(ran OR at_least_s > 0, verification_code) AS known,
    CASE WHEN source = 'xlabench' THEN coalesce(environment, 'default') END AS environment_key,
    CASE WHEN source = 'xlabench' THEN coalesce(dtype, 'default') ELSE dtype END AS dtype_key,
    CASE WHEN source = 'xlabench' THEN coalesce(requested_batch_size::VARCHAR, 'default')
        ELSE batch_size::VARCHAR END AS request_key,
    CASE WHEN source = 'xlabench' THEN coalesce(optimizer, 'none') END AS optimizer_key,
    CASE WHEN source = 'xlabench' THEN coalesce(loss, 'default') END AS loss_key,
    CASE WHEN source = 'xlabench' THEN coalesce(matmul_precision, 'default') END AS precision_key,
    CASE WHEN source = 'xlabench' THEN coalesce(workload, 'default') END AS workload_key,
    accelerator_model AS accelerator_model_key,
    machine_id AS machine_key,
    CASE WHEN source = 'xlabench' THEN coalesce(batch_size::VARCHAR, 'none') ELSE batch_size::VARCHAR END AS batch_key,
    threads::VARCHAR AS threads_key,
    start AS start_key,
    policy AS policy_key,
    iterations_per_run::VARCHAR AS iterations_key,
    CASE WHEN instrumented THEN 'on' WHEN NOT instrumented THEN 'off' END AS instrumented_key
FROM result_rows;
