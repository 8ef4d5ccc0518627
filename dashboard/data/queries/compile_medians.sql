-- Grain: one row per series without the model, of the shown run; a cold and a warm cache are two series. Medians over the
-- valid results that have the number (no disturbed one, no wrong answer), each beside how many they are; the numbers measure
-- different things and are never added.
-- `main_reason` is the most frequent one of the `without_n` results that did not run, and `main_reason_n` of them have it; of
-- several that are as frequent, it is the first of the alphabet.
SELECT
    test, accelerator, environment, dtype, requested_batch_size, machine_id, optimizer, loss, matmul_precision, workload,
    backend, variant,
    any_value(cache) AS cache,
    list_median(list(first_iteration_s) FILTER (valid)) AS first_iteration_s,
    count(first_iteration_s) FILTER (valid) AS first_iteration_n,
    list_median(list(compiler_time_s) FILTER (valid)) AS compiler_time_s,
    count(compiler_time_s) FILTER (valid) AS compiler_time_n,
    list_median(list(time_to_steady_s) FILTER (valid)) AS time_to_steady_s,
    count(time_to_steady_s) FILTER (valid) AS time_to_steady_n,
    list_median(list(compile_peer_s) FILTER (valid)) AS compile_peer_s,
    count(compile_peer_s) FILTER (valid) AS compile_peer_n,
    max(graphs_number) FILTER (valid) AS graphs_number,
    count(graphs_number) FILTER (valid) AS graphs_n,
    count(*) FILTER (NOT ran) AS without_n,
    list_mode(list_sort(list(reason) FILTER (NOT ran))) AS main_reason,
    len(list_filter(list(reason) FILTER (NOT ran), lambda reason: reason = main_reason)) AS main_reason_n
FROM (SELECT *, is_valid(ran, verification_code) AS valid FROM result_rows WHERE /*filters*/)
GROUP BY ALL
ORDER BY test, accelerator, variant, environment
