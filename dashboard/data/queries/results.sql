-- Grain: as view results, for the shown run. Only what page Compile time shows or needs: of thousands of rows every
-- further column costs each change of a filter.
SELECT
    run_id, experiment_id, environment, record_id, suite, model, test, accelerator, dtype, requested_batch_size, machine_id,
    optimizer, loss, matmul_precision, workload, backend, variant, status, ran, verification_code, reason, cache, start, latency_s, steady_n,
    first_iteration_s, time_to_steady_s, compiler_time_s, compiler_source, compile_peer_s, graphs_number,
    runtime_start_s
FROM result_rows
WHERE /*filters*/
ORDER BY suite, model, test, variant, environment
