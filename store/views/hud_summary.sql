-- Grain of hud_summary(baseline_backend, baseline_run): one row per run × suite × test × dtype × accelerator ×
-- environment × settings × variant, as the PyTorch HUD sums up a compiler. Its rule: what counts is every model with a
-- row; passing is an answer that passed with a speedup other than 0 (backend `export`: without one, too), or an answer
-- that was skipped by the tables; means are over rows that passed and are not 0. Each number has its own n.
-- `geomean_vs_eager` is the HUD's speedup; with n = 0 it is 0.0, as there. `geomean_vs_baseline` is the same mean of
-- speedups over the rows of variant `baseline_backend` (else `baseline_backend cudagraphs`, as preset `hud` has it on CUDA)
-- that passed themselves and were measured alike on the same machine, at the point `baseline_run`: NULL or 'same' its own
-- run, 'latest' or 'oldest' of each model, or a run_id.
CREATE OR REPLACE MACRO hud_summary(baseline_backend, baseline_run) AS TABLE
WITH elsewhere AS (
    -- Baselines of another point in time: empty, and nothing to read, where it is the same run.
    SELECT *
    FROM hud_rows
    WHERE coalesce(baseline_run, 'same') <> 'same'
        AND (baseline_run IN ('latest', 'oldest') OR run_id = baseline_run)
        AND variant IN (baseline_backend, baseline_backend || ' cudagraphs') AND passed AND abs_latency_ms > 0
    QUALIFY row_number() OVER (
        PARTITION BY suite, model, test, accelerator, accelerator_model, machine_id, settings_id, batch_size, measured
        ORDER BY CASE WHEN baseline_run = 'oldest' THEN run_started END, run_started DESC, run_id, variant) = 1
),
here AS (
    SELECT *,
        coalesce(
            max(abs_latency_ms) FILTER (variant = baseline_backend AND passed AND abs_latency_ms > 0) OVER same,
            max(abs_latency_ms) FILTER (variant = baseline_backend || ' cudagraphs' AND passed AND abs_latency_ms > 0)
                OVER same
        ) AS same_run_ms
    FROM hud_rows
    WINDOW same AS (
        PARTITION BY
            run_id, suite, model, test, accelerator, accelerator_model, machine_id, settings_id, batch_size, measured
    )
),
compared AS (
    SELECT r.*,
        CASE WHEN coalesce(baseline_run, 'same') = 'same' THEN r.same_run_ms ELSE b.abs_latency_ms END
            / nullif(r.abs_latency_ms, 0) AS baseline_speedup
    FROM here AS r
    LEFT JOIN elsewhere AS b
        ON b.suite = r.suite AND b.model = r.model AND b.test = r.test AND b.accelerator = r.accelerator
        AND b.settings_id = r.settings_id
        AND b.accelerator_model IS NOT DISTINCT FROM r.accelerator_model
        AND b.machine_id IS NOT DISTINCT FROM r.machine_id
        AND b.batch_size IS NOT DISTINCT FROM r.batch_size
        AND b.measured IS NOT DISTINCT FROM r.measured
),
counted AS (
    SELECT *,
        (passed AND (coalesce(hud_speedup, 0) <> 0 OR backend = 'export')) OR coalesce(accuracy = 'pass_due_to_skip', false)
            AS counts_as_passed,
        CASE WHEN passed AND hud_speedup > 0 THEN ln(hud_speedup) END AS log_speedup,
        CASE WHEN passed AND baseline_speedup > 0 THEN ln(baseline_speedup) END AS log_baseline_speedup
    FROM compared
),
grouped AS (
    SELECT
        run_id, any_value(run_label) AS run_label, min(run_started) AS run_started, any_value(source) AS source,
        suite, test, any_value(dtype) AS dtype, accelerator, accelerator_model, machine_id,
        any_value(environment) AS environment, any_value(requested_batch_size) AS requested_batch_size,
        any_value(optimizer) AS optimizer, any_value(loss) AS loss, any_value(matmul_precision) AS matmul_precision,
        any_value(workload) AS workload, backend, variant,
        count(DISTINCT model) AS models_n,
        count(DISTINCT model) FILTER (judged) AS judged_n,
        count(DISTINCT model) FILTER (counts_as_passed) AS passed_n,
        coalesce(exp(avg(log_speedup)), 0.0) AS geomean_vs_eager,
        count(log_speedup) AS geomean_vs_eager_n,
        exp(avg(log_baseline_speedup)) AS geomean_vs_baseline,
        count(log_baseline_speedup) AS geomean_vs_baseline_n,
        avg(compilation_latency_s) FILTER (passed AND compilation_latency_s <> 0) AS compilation_mean_s,
        count(*) FILTER (passed AND compilation_latency_s <> 0) AS compilation_n,
        avg(abs_latency_ms) FILTER (passed AND abs_latency_ms <> 0) AS execution_mean_ms,
        count(*) FILTER (passed AND abs_latency_ms <> 0) AS execution_n,
        avg(compression_ratio) FILTER (passed AND compression_ratio <> 0) AS compression_mean,
        count(*) FILTER (passed AND compression_ratio <> 0) AS compression_n,
        -- A row without a peak counts as 0, as in the HUD, unless no row has one.
        CASE WHEN count(dynamo_peak_gb) FILTER (passed) > 0
            THEN avg(coalesce(dynamo_peak_gb, 0)) FILTER (passed) END AS dynamo_peak_mean_gb,
        count(*) FILTER (passed) AS dynamo_peak_n
    FROM counted
    GROUP BY run_id, suite, test, accelerator, accelerator_model, machine_id, settings_id, backend, variant
)
SELECT *,
    baseline_backend AS baseline_backend,
    passed_n / models_n AS pass_rate,
    round(100 * passed_n / models_n)::INTEGER AS pass_percent
FROM grouped;
