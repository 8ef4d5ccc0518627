-- Grain: one row per result with any compile number. These numbers measure different things and are never added.
CREATE OR REPLACE VIEW compile_times AS
SELECT
    run_id, run_label, run_started, source, experiment_id, record_id, suite, model, test, backend, variant, accelerator,
    accelerator_model, environment, machine_id, host, torch, torch_xla, dtype, batch_size, requested_batch_size, status,
    ran, steady_n, first_iteration_s, time_to_steady_s, compile_peer_s, compiler_time_s, compiler_source, graphs_number,
    cache, start, runtime_start_s
FROM result_rows
WHERE coalesce(first_iteration_s, time_to_steady_s, compile_peer_s, compiler_time_s, graphs_number) IS NOT NULL;
