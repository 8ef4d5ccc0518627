-- Views in the terms of PyTorch's HUD.

-- name: hud_reported
-- Grain: one row per record that a HUD file gave: a row of a performance, accuracy or `--xla` run, its numbers side by
-- side. What the harness writes as 0 for want of a number is NULL; peaks of a row that did not fail stay 0 as theirs.
CREATE OR REPLACE VIEW hud_reported AS
WITH pivoted AS (
    SELECT
        r.run_id, r.run_label, r.run_started, r.source, r.record_id, r.suite, r.model, r.test, r.dtype, r.accelerator,
        r.accelerator_model, r.environment, r.machine_id, r.backend, r.variant, r.batch_size, r.attempt, r.status, r.reason,
        r.compiler_time_s,
        json_extract_string(r.record, '$.reported.kind') AS kind,
        json_extract_string(r.record, '$.reported.accuracy') AS accuracy,
        json_extract_string(r.record, '$.reported.tag') AS tag,
        max(m.value) FILTER (m.name = 'hud_speedup') AS hud_speedup,
        max(m.value) FILTER (m.name = 'abs_latency_ms') AS abs_latency_ms,
        max(m.value) FILTER (m.name = 'compilation_latency_s') AS compilation_latency_s,
        max(m.value) FILTER (m.name = 'compression_ratio') AS compression_ratio,
        max(m.value) FILTER (m.name = 'eager_peak_gb') AS eager_peak_gb,
        max(m.value) FILTER (m.name = 'dynamo_peak_gb') AS dynamo_peak_gb,
        max(m.value) FILTER (m.name = 'time_baseline_s') AS time_baseline_s,
        max(m.value) FILTER (m.name = 'time_xla_s') AS time_xla_s,
        max(m.value) FILTER (m.name = 'prior_speedup') AS prior_speedup,
        max(m.value) FILTER (m.name = 'speedup_vs_prior') AS speedup_vs_prior,
        max(m.value) FILTER (m.name = 'cache_lookup_latency_s') AS cache_lookup_latency_s,
        TRY_CAST(max(m.value) FILTER (m.name = 'calls_captured') AS BIGINT) AS calls_captured,
        TRY_CAST(max(m.value) FILTER (m.name = 'unique_graphs') AS BIGINT) AS unique_graphs,
        TRY_CAST(max(m.value) FILTER (m.name = 'fallbacks_to_eager') AS BIGINT) AS fallbacks_to_eager,
        TRY_CAST(max(m.value) FILTER (m.name = 'graph_breaks') AS BIGINT) AS graph_breaks,
        TRY_CAST(max(m.value) FILTER (m.name = 'unique_graph_breaks') AS BIGINT) AS unique_graph_breaks,
        TRY_CAST(max(m.value) FILTER (m.name = 'autograd_captures') AS BIGINT) AS autograd_captures,
        TRY_CAST(max(m.value) FILTER (m.name = 'autograd_compiles') AS BIGINT) AS autograd_compiles,
        TRY_CAST(max(m.value) FILTER (m.name = 'cudagraph_skips') AS BIGINT) AS cudagraph_skips
    FROM records AS r
    LEFT JOIN record_metrics AS m ON m.record_id = r.record_id
    WHERE r.purpose = 'reported' AND r.source IN ('hud-csv', 'hud-json')
    GROUP BY ALL
)
SELECT * REPLACE (
    nullif(hud_speedup, 0) AS hud_speedup,
    nullif(coalesce(abs_latency_ms, time_xla_s * 1000), 0) AS abs_latency_ms,
    nullif(compilation_latency_s, 0) AS compilation_latency_s,
    nullif(compression_ratio, 0) AS compression_ratio
)
FROM pivoted;

-- name: hud_rows
-- Grain: one row per run × suite × model × test × dtype × accelerator × environment × settings × batch size × variant,
-- as the PyTorch HUD's table of models has them: status of the answer, speedup over eager, latency, compilation, memory.
-- From HUD files: the performance row with the accuracy row of its model (of its batch size where there is one: the
-- harness checks answers at another). From results: against eager of the same run, by the harness's own formulas; what
-- was skipped or not run has no row, as there. `passed` is the HUD's rule for the answer; without a check it is false.
-- `verification_run_id` is the later run that checked it, if it was not the own one.
-- `measured` is how it was measured (macro measured_as), `policy` how its threads waited; both are unknown of HUD files, as is
-- the series, `series_id`.
CREATE OR REPLACE VIEW hud_rows AS
WITH reported AS NOT MATERIALIZED (
    SELECT *,
        {'suite': suite, 'model': model, 'test': test, 'dtype': dtype, 'accelerator': accelerator,
            'accelerator_model': accelerator_model, 'environment': environment, 'variant': variant} AS series
    FROM hud_reported
),
performance AS NOT MATERIALIZED (
    -- Of a model measured twice the row that did not fail counts, else the last: a retry is appended.
    SELECT *
    FROM reported
    WHERE kind <> 'accuracy'
    QUALIFY (batch_size IS NOT NULL OR count(batch_size) OVER (PARTITION BY run_id, series) = 0)
        AND row_number() OVER (
            PARTITION BY run_id, series, batch_size ORDER BY hud_speedup IS NULL, attempt DESC, record_id) = 1
),
answers AS NOT MATERIALIZED (
    -- A parent that gives up writes `timeout` beside the row of the child that lived on.
    SELECT *
    FROM reported
    WHERE kind = 'accuracy'
    QUALIFY row_number() OVER (
        PARTITION BY run_id, series, batch_size ORDER BY accuracy = 'timeout', attempt DESC, record_id) = 1
),
from_files AS (
    SELECT p.*, a.accuracy AS answer, a.record_id AS accuracy_record_id
    FROM performance AS p
    LEFT JOIN answers AS a ON a.run_id = p.run_id AND a.series = p.series
    QUALIFY row_number() OVER (
        PARTITION BY p.run_id, p.record_id
        ORDER BY a.batch_size IS NOT DISTINCT FROM p.batch_size DESC, a.accuracy = 'timeout', a.attempt DESC, a.record_id) = 1
    UNION ALL
    SELECT a.*, a.accuracy, a.record_id
    FROM answers AS a
    ANTI JOIN performance AS p ON p.run_id = a.run_id AND p.series = a.series
),
checked AS (
    -- What became of a verification that neither passed nor failed.
    SELECT record_id, run_id,
        coalesce(json_extract_string(record, '$.verification.decided_by'), status) AS decided_by,
        coalesce(json_extract_string(record, '$.verification.error.phase'), failure_phase) AS error_phase,
        coalesce(json_extract_string(record, '$.verification.error.type'),
            CASE WHEN status = 'timeout' THEN 'Timeout' END) AS error_type
    FROM records
    WHERE verification_code IN ('VERIFIER_SKIPPED', 'EAGER_FAILED', 'EXCEPTION_RAISED', 'VERIFIER_DIDNT_RUN')
),
measured AS (
    -- Beside each result what eager of the same run, configuration and machine took, measured alike: there is one at most.
    SELECT r.*,
        max(r.latency_s) FILTER (r.variant = 'eager' AND r.ran) OVER same AS eager_latency_s,
        max(r.warm_up_s) FILTER (r.variant = 'eager' AND r.ran) OVER same AS eager_warm_up_s,
        max(r.setup_peak_memory_bytes) FILTER (r.variant = 'eager' AND r.ran) OVER same AS eager_peak_bytes
    FROM result_rows AS r
    WHERE r.status NOT IN ('skipped', 'not_run')
    WINDOW same AS (
        PARTITION BY
            r.run_id, r.suite, r.model, r.test, r.accelerator, r.accelerator_model, r.machine_id, r.settings_id,
            measured_as(r.batch_size, r.threads, r.iterations_per_run, r.start, r.instrumented)
    )
),
from_results AS (
    SELECT r.*,
        CASE
            WHEN r.verification_code = 'PASS' THEN 'pass'
            WHEN r.verification_code = 'FAIL' THEN 'fail_accuracy'
            WHEN r.verification_code = 'NONDETERMINISTIC_EAGER_RUN' THEN 'eager_two_runs_differ'
            WHEN r.verification_code = 'VERIFIER_SKIPPED' THEN CASE WHEN c.decided_by = 'table' THEN 'pass_due_to_skip' END
            WHEN c.error_phase = 'load' THEN 'model_fail_to_load'
            WHEN c.error_type = 'Timeout' THEN 'timeout'
            WHEN r.verification_code = 'EAGER_FAILED'
                THEN CASE WHEN c.decided_by = 'oom' THEN 'eager_1st_run_OOM' ELSE 'eager_1st_run_fail' END
            WHEN r.verification_code IN ('EXCEPTION_RAISED', 'VERIFIER_DIDNT_RUN')
                THEN CASE WHEN c.decided_by = 'oom' THEN 'OOM' ELSE 'fail_to_run' END
        END AS answer,
        r.eager_latency_s / r.latency_s AS hud_speedup,
        r.latency_s * coalesce(r.iterations_per_run, 1) * 1000 AS abs_latency_ms,
        nullif(r.warm_up_s - r.eager_warm_up_s, 0) AS compilation_latency_s,
        CASE WHEN r.setup_peak_memory_bytes > 0 THEN r.eager_peak_bytes / r.setup_peak_memory_bytes END
            AS compression_ratio,
        r.eager_peak_bytes / 1e9 AS eager_peak_gb,
        r.setup_peak_memory_bytes / 1e9 AS dynamo_peak_gb
    FROM measured AS r
    LEFT JOIN checked AS c ON c.run_id = r.run_id AND c.record_id = coalesce(r.detail_record_id, r.record_id)
),
both_kinds AS (
    SELECT
        run_id, run_label, run_started, source, series_id, suite, model, test, dtype, accelerator, accelerator_model,
        machine_id, environment, requested_batch_size, optimizer, loss, matmul_precision, workload, settings_id, backend, variant,
        batch_size,
        measured_as(batch_size, threads, iterations_per_run, start, instrumented) AS measured, policy, verification_run_id,
        CASE WHEN status <> 'verify_only' THEN record_id END AS performance_record_id,
        coalesce(detail_record_id, record_id) AS accuracy_record_id, answer AS accuracy,
        -- Right at a smaller batch than the timed one is no verdict: `PASS (batch N)`.
        is_checked(verification_code) AND verification_code NOT LIKE 'PASS (%'
            OR answer = 'pass_due_to_skip' AS judged,
        hud_speedup, abs_latency_ms, compilation_latency_s, compression_ratio, eager_peak_gb, dynamo_peak_gb
    FROM from_results
    UNION ALL
    SELECT
        run_id, run_label, run_started, source, NULL, suite, model, test, dtype, accelerator, accelerator_model, machine_id,
        environment, NULL, NULL, NULL, NULL, NULL, settings_of(environment, dtype, NULL, NULL, NULL, NULL, NULL), backend,
        variant, batch_size, NULL, NULL, NULL,
        CASE WHEN kind <> 'accuracy' THEN record_id END, accuracy_record_id, answer,
        answer IS NOT NULL,
        hud_speedup, abs_latency_ms, compilation_latency_s, compression_ratio, eager_peak_gb, dynamo_peak_gb
    FROM from_files
)
SELECT * REPLACE (coalesce(judged, false) AS judged),
    coalesce(accuracy IN ('pass', 'pass_due_to_skip', 'eager_variation'), false) OR backend = 'eager' AS passed
FROM both_kinds
WHERE performance_record_id IS NOT NULL OR accuracy IS NOT NULL;

-- name: hud_summary
-- Grain of hud_summary(baseline_backend, baseline_run): one row per run × suite × test × dtype × accelerator ×
-- environment × settings × variant, as the PyTorch HUD sums up a compiler. Its rule: what counts is every model with a
-- row; passing is an answer that passed with a speedup other than 0 (backend `export`: without one, too), or an answer
-- that was skipped by the tables; means are over rows that passed and are not 0. Each number has its own n.
-- `geomean_vs_eager` is the HUD's speedup; with n = 0 it is 0.0, as there. `geomean_vs_baseline` is the same mean of
-- speedups over the rows of variant `baseline_backend` (else `baseline_backend cudagraphs`, as preset `hud` has it on CUDA)
-- that passed themselves and were measured alike on the same machine, without a mark between the two runs, at the point
-- `baseline_run`: NULL or 'same' its own run, 'latest' or 'oldest' of each model, or a run_id.
CREATE OR REPLACE MACRO hud_summary(baseline_backend, baseline_run) AS TABLE
WITH elsewhere AS (
    -- Baselines of another point in time, the one to take first: empty, and nothing to read, where it is the same run.
    SELECT
        suite, model, test, accelerator, accelerator_model, machine_id, settings_id, batch_size, measured,
        list({policy: policy, latency_ms: abs_latency_ms, started: run_started, begins: begins}
            ORDER BY CASE WHEN baseline_run = 'oldest' THEN run_started END, run_started DESC, run_id, variant) AS baselines
    FROM hud_rows
    LEFT JOIN epochs USING (series_id)
    WHERE coalesce(baseline_run, 'same') <> 'same'
        AND (baseline_run IN ('latest', 'oldest') OR run_id = baseline_run)
        AND variant IN (baseline_backend, baseline_backend || ' cudagraphs') AND passed AND abs_latency_ms > 0
    GROUP BY suite, model, test, accelerator, accelerator_model, machine_id, settings_id, batch_size, measured
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
        -- How threads waited is unknown of older records, which are compared all the same.
        CASE WHEN coalesce(baseline_run, 'same') = 'same' THEN r.same_run_ms
            ELSE list_filter(b.baselines, lambda baseline: NOT other_policy(baseline.policy, r.policy)
                AND NOT is_mark_between(e.begins, r.run_started, baseline.begins, baseline.started))[1].latency_ms END
            / nullif(r.abs_latency_ms, 0) AS baseline_speedup
    FROM here AS r
    LEFT JOIN epochs AS e USING (series_id)
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
        len(list_distinct(list(model))) AS models_n,
        coalesce(len(list_distinct(list(model) FILTER (judged))), 0) AS judged_n,
        coalesce(len(list_distinct(list(model) FILTER (counts_as_passed))), 0) AS passed_n,
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
