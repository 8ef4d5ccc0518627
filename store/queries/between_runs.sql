-- Grain: one row per machine: how far runs of different days lie apart that measured the same experiment under the same
-- torch and torch_xla in the same way (macro measured_as); runs $runs and wrong answers are left out. `squares` is the sum
-- of squared deviations of ln(latency) from their mean, `freedom` the runs less the means.
WITH medians AS (
    SELECT
        machine_id, series_id, torch, torch_xla, policy, run_id, ln(latency_s) AS log_s,
        measured_as(batch_size, threads, iterations_per_run, start, instrumented) AS measured
    FROM result_rows
    WHERE is_valid(ran, verification_code) AND latency_s > 0 AND NOT list_contains($runs, run_id)
),
series AS (
    SELECT machine_id, count(*) AS runs_n, var_pop(log_s) * count(*) AS squares
    FROM medians
    GROUP BY machine_id, series_id, torch, torch_xla, measured, policy
    HAVING count(*) > 1
)
SELECT machine_id, sum(squares) AS squares, sum(runs_n - 1) AS freedom
FROM series
GROUP BY machine_id
