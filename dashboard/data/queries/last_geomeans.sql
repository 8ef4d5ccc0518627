-- Grain: one row per series without the model that has a mean in the shown run and, over the same models, measured alike
-- (macro measured_as), in other runs of $runs: `trend` is those means over the filtered models, from the oldest run on. A run
-- that lacks any of the models is left out, as a mean over the others is no number to compare with. $only leaves out models
-- of the shown run, as it does in macro geomean_changes.
WITH behind AS (
    SELECT
        run_id, run_started, suite_series_id, suite, test, accelerator, accelerator_model, machine_id, environment, dtype,
        requested_batch_size, optimizer, loss, matmul_precision, workload, backend, variant, model,
        avg(ln(speedup)) AS log_speedup,
        min(measured_as(batch_size, threads, iterations_per_run, start, instrumented)) AS measured,
        max(policy) AS policy
    FROM speedups(
        $baseline_backend::VARCHAR, $point::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR,
        runs := $runs::VARCHAR[]
    )
    WHERE speedup > 0 AND /*filters without run*/
    GROUP BY ALL
),
shown AS (
    SELECT *, count(*) OVER (PARTITION BY suite_series_id) AS models_n
    FROM behind
    ANTI JOIN unclean($only::VARCHAR[], [$run]) USING (suite, model, test)
    WHERE run_id = $run
),
means AS (
    SELECT
        b.run_id, b.run_started,
        s.* EXCLUDE (run_id, run_started, suite_series_id, model, log_speedup, measured, policy),
        exp(avg(b.log_speedup)) AS geomean,
        count(*) AS alike_n
    FROM behind AS b
    JOIN shown AS s ON s.suite_series_id = b.suite_series_id AND s.model = b.model
        AND s.measured = b.measured AND coalesce(s.policy = b.policy, true)
    GROUP BY ALL
)
SELECT * EXCLUDE (run_id, run_started, models_n, alike_n, geomean), list(geomean ORDER BY run_started, run_id) AS trend
FROM means
WHERE alike_n = models_n
GROUP BY ALL
HAVING count(*) > 1
ORDER BY test, accelerator, suite, variant, environment
