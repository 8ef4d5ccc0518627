-- Grain: one row per machine: how far runs of different days lie apart that measured the same experiment under the same
-- torch and torch_xla, runs $runs left out. `squares` is the sum of squared deviations of ln(latency) from their mean,
-- `freedom` the runs less the means.
WITH medians AS (
    SELECT machine_id, experiment_id, environment, torch, torch_xla, run_id, ln(latency_s) AS log_s
    FROM result_rows
    WHERE ran AND latency_s > 0 AND NOT list_contains($runs, run_id)
),
series AS (
    SELECT machine_id, count(*) AS runs_n, var_pop(log_s) * count(*) AS squares
    FROM medians
    GROUP BY machine_id, experiment_id, environment, torch, torch_xla
    HAVING count(*) > 1
)
SELECT machine_id, sum(squares) AS squares, sum(runs_n - 1) AS freedom
FROM series
GROUP BY machine_id
