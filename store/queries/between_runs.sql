-- Grain: one row per machine and way in which it measured, as view noise_floors: how far runs of different days lie apart
-- that measured the same experiment in this way under the same torch and torch_xla; runs $runs and wrong answers are left
-- out. `squares` is the sum of squared deviations of ln(latency) from their mean, `freedom` the runs less the means.
WITH medians AS (
    SELECT
        machine_id, accelerator, series_id, torch, torch_xla, policy, batch_size, ln(latency_s) AS log_s,
        measured_as(NULL, threads, iterations_per_run, start, instrumented) AS measured
    FROM result_rows
    WHERE is_valid(ran, verification_code) AND latency_s > 0 AND NOT list_contains($runs, run_id)
),
series AS (
    SELECT machine_id, accelerator, measured, policy, count(*) AS runs_n, var_pop(log_s) * count(*) AS squares
    FROM medians
    GROUP BY machine_id, accelerator, measured, policy, batch_size, series_id, torch, torch_xla
    HAVING count(*) > 1
)
SELECT machine_id, accelerator, measured, policy, sum(squares) AS squares, sum(runs_n - 1) AS freedom
FROM series
GROUP BY machine_id, accelerator, measured, policy
