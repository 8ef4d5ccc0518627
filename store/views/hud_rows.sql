-- Grain: one row per run × suite × model × test × dtype × accelerator × environment × settings × batch size × variant,
-- as the PyTorch HUD's table of models has them: status of the answer, speedup over eager, latency, compilation, memory.
-- From HUD files: the performance row with the accuracy row of its model (of its batch size where there is one: the
-- harness checks answers at another). From results: against eager of the same run, by the harness's own formulas; what
-- was skipped or not run has no row, as there. `passed` is the HUD's rule for the answer; without a check it is false.
-- `measured` is how it was measured (macro measured_as); it is unknown of HUD files.
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
    -- Beside each result what eager of the same run, configuration and machine measured: there is one at most.
    SELECT r.*,
        max(r.latency_s) FILTER (r.variant = 'eager' AND r.ran) OVER same AS eager_latency_s,
        max(r.warm_up_s) FILTER (r.variant = 'eager' AND r.ran) OVER same AS eager_warm_up_s,
        max(r.setup_peak_memory_bytes) FILTER (r.variant = 'eager' AND r.ran) OVER same AS eager_peak_bytes
    FROM result_rows AS r
    WHERE r.status NOT IN ('skipped', 'not_run')
    WINDOW same AS (
        PARTITION BY
            r.run_id, r.suite, r.model, r.test, r.accelerator, r.accelerator_model, r.machine_id, r.settings_id, r.batch_size
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
    LEFT JOIN checked AS c ON c.run_id = r.run_id AND c.record_id = r.detail_record_id
),
both_kinds AS (
    SELECT
        run_id, run_label, run_started, source, suite, model, test, dtype, accelerator, accelerator_model, machine_id,
        environment, requested_batch_size, optimizer, loss, matmul_precision, workload, settings_id, backend, variant,
        batch_size,
        measured_as(batch_size, threads, iterations_per_run, start, instrumented) AS measured,
        CASE WHEN status <> 'verify_only' THEN record_id END AS performance_record_id, detail_record_id AS accuracy_record_id, answer AS accuracy,
        -- Right at a smaller batch than the timed one is no verdict: `PASS (batch N)`.
        is_checked(verification_code) AND verification_code NOT LIKE 'PASS (%'
            OR answer = 'pass_due_to_skip' AS judged,
        hud_speedup, abs_latency_ms, compilation_latency_s, compression_ratio, eager_peak_gb, dynamo_peak_gb
    FROM from_results
    UNION ALL
    SELECT
        run_id, run_label, run_started, source, suite, model, test, dtype, accelerator, accelerator_model, machine_id,
        environment, NULL, NULL, NULL, NULL, NULL, settings_of(environment, dtype, NULL, NULL, NULL, NULL, NULL), backend,
        variant, batch_size, NULL,
        CASE WHEN kind <> 'accuracy' THEN record_id END, accuracy_record_id, answer,
        answer IS NOT NULL,
        hud_speedup, abs_latency_ms, compilation_latency_s, compression_ratio, eager_peak_gb, dynamo_peak_gb
    FROM from_files
)
SELECT * REPLACE (coalesce(judged, false) AS judged),
    coalesce(accuracy IN ('pass', 'pass_due_to_skip', 'eager_variation'), false) OR backend = 'eager' AS passed
FROM both_kinds
WHERE performance_record_id IS NOT NULL OR accuracy IS NOT NULL;
