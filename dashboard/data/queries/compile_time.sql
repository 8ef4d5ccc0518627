-- Queries of page Compile time.

-- name: results
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

-- name: compile_medians
-- Grain: one row per series without the model, of the shown run; a cold and a warm cache are two series. Medians over the
-- valid results that have the number (no disturbed one, no wrong answer) and whose processes started as most did,
-- `usual_start`, each beside how many they are: compile times of another start are not comparable, and `other_start_n` results
-- have one. The numbers measure different things and are never added.
-- `main_reason` is the most frequent one of the `without_n` results that did not run, and `main_reason_n` of them have it; of
-- several that are as frequent, it is the first of the alphabet.
SELECT
    test, accelerator, environment, dtype, requested_batch_size, machine_id, optimizer, loss, matmul_precision, workload,
    backend, variant,
    any_value(cache) AS cache,
    list_median(list(first_iteration_s) FILTER (alike)) AS first_iteration_s,
    count(first_iteration_s) FILTER (alike) AS first_iteration_n,
    list_median(list(compiler_time_s) FILTER (alike)) AS compiler_time_s,
    count(compiler_time_s) FILTER (alike) AS compiler_time_n,
    list_median(list(time_to_steady_s) FILTER (alike)) AS time_to_steady_s,
    count(time_to_steady_s) FILTER (alike) AS time_to_steady_n,
    list_median(list(compile_peer_s) FILTER (alike)) AS compile_peer_s,
    count(compile_peer_s) FILTER (alike) AS compile_peer_n,
    max(graphs_number) FILTER (valid) AS graphs_number,
    count(graphs_number) FILTER (valid) AS graphs_n,
    any_value(usual_start) AS usual_start,
    count(*) FILTER (valid AND NOT alike) AS other_start_n,
    count(*) FILTER (NOT ran) AS without_n,
    list_mode(list_sort(list(reason) FILTER (NOT ran))) AS main_reason,
    len(list_filter(list(reason) FILTER (NOT ran), lambda reason: reason = main_reason)) AS main_reason_n
FROM (
    SELECT
        *,
        CASE WHEN 2 * count(*) FILTER (valid AND start = 'interpreter') OVER same > count(start) FILTER (valid) OVER same
            THEN 'interpreter' ELSE 'fork' END AS usual_start,
        valid AND coalesce(start = usual_start, true) AS alike
    FROM (SELECT *, is_valid(ran, verification_code) AS valid FROM result_rows WHERE /*filters*/)
    WINDOW same AS (PARTITION BY test, accelerator, machine_id, settings_id, variant)
)
GROUP BY ALL
ORDER BY test, accelerator, variant, environment

-- name: break_evens
-- Grain: as macro break_evens, for the shown run; the baseline's own rows are left out.
SELECT *
FROM break_evens(
    $baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR
)
WHERE record_id IS DISTINCT FROM baseline_record_id AND /*filters*/
ORDER BY test, accelerator, suite, model, variant, environment

-- name: break_even_counts
-- Grain: one row per series without the model, of the shown run: on how many of its models it has earned its compile time
-- from the start, after some iterations (their median), never, or undecided; the baseline's own rows are left out. Of those
-- with never, `at_first_n` are ahead for the first iterations (`ahead_at_first_n` is the median), because they wait less. Names
-- of models that several suites have are with the suite.
SELECT
    test, accelerator, environment, dtype, requested_batch_size, machine_id, optimizer, loss, matmul_precision, workload,
    backend, variant,
    count(break_even) AS known_n,
    count(*) FILTER (break_even = 'ahead from the start') AS ahead_n,
    count(*) FILTER (break_even = 'after') AS after_n,
    count(*) FILTER (break_even = 'never') AS never_n,
    count(*) FILTER (break_even = 'undecided') AS undecided_n,
    median(break_even_iterations) AS break_even_iterations,
    count(*) FILTER (ahead_at_first_n > 0) AS at_first_n,
    median(ahead_at_first_n) FILTER (ahead_at_first_n > 0) AS ahead_at_first_n,
    coalesce(list(name ORDER BY name) FILTER (ahead_at_first_n > 0), []) AS at_first_models,
    coalesce(list(name ORDER BY name) FILTER (break_even = 'never'), []) AS never_models,
    list(DISTINCT suite ORDER BY suite) AS suites
FROM (
    SELECT
        *,
        CASE WHEN min(suite) OVER same = max(suite) OVER same THEN model ELSE suite || '/' || model END AS name
    FROM break_evens(
        $baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR
    )
    WHERE record_id IS DISTINCT FROM baseline_record_id AND /*filters*/
    WINDOW same AS (PARTITION BY model)
)
GROUP BY ALL
HAVING count(break_even) > 0
ORDER BY test, accelerator, variant, environment
