-- Grain: one row per series without the model, of the shown run: on how many of its models it has earned its compile time
-- from the start, after some iterations (their median), never, or undecided; the baseline's own rows are left out. Names of models
-- that several suites have are with the suite.
SELECT
    test, accelerator, environment, dtype, requested_batch_size, machine_id, optimizer, loss, matmul_precision, workload,
    backend, variant,
    count(break_even) AS known_n,
    count(*) FILTER (break_even = 'ahead from the start') AS ahead_n,
    count(*) FILTER (break_even = 'after') AS after_n,
    count(*) FILTER (break_even = 'never') AS never_n,
    count(*) FILTER (break_even = 'undecided') AS undecided_n,
    median(break_even_iterations) AS break_even_iterations,
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
