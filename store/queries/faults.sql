-- Queries of `xlabench repro`.

-- name: faults
-- Grain: one row per fault: all results of one kind of trouble whose texts read alike (its signature), over all runs.
-- `record_id` names the result that shows it best: $record if that is asked for, else the newest that is not eager's
-- own, of a suite whose models a script can build by itself, evaluation before training.
-- A model that could not be built is no compiler's fault and is in no row.
WITH found AS (
    SELECT
        'fallback_op' AS kind, 'aten::' || op AS signature, op AS detail,
        record_id, run_id, run_label, run_started, suite, model, test, backend, torch, torch_xla
    FROM fallback_ops
    UNION ALL
    SELECT
        'graph_break', error_signature(split_part(reason, chr(10) || '  Hint:', 1), model), reason,
        record_id, run_id, run_label, run_started, suite, model, test, backend, torch, torch_xla
    FROM graph_breaks
    UNION ALL
    SELECT
        'failure', error_signature, reason,
        record_id, run_id, run_label, run_started, suite, model, test, backend, torch, torch_xla
    FROM result_rows
    WHERE error_signature IS NOT NULL AND status <> 'load_error' AND failure_phase IS DISTINCT FROM 'load'
    UNION ALL
    SELECT
        'wrong_answer',
        'wrong answer under ' || CASE WHEN backend LIKE '%xla%' THEN 'XLA' ELSE backend END
        || ': ' || coalesce(record ->> '$.verification.first_failed', 'result')
        || ' (' || coalesce(record ->> '$.verification.decided_by', 'unknown check') || ')',
        'verification FAIL',
        record_id, run_id, run_label, run_started, suite, model, test, backend, torch, torch_xla
    FROM results
    WHERE verification_code = 'FAIL'
),
best AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY kind, signature
            ORDER BY
                record_id IS NOT DISTINCT FROM $record DESC, backend = 'eager',
                suite NOT IN ('dummy', 'timm_models', 'huggingface'), run_started DESC,
                test = 'train', suite, model, backend, run_id, record_id
        ) AS place
    FROM found
)
SELECT
    kind, signature,
    any_value(record_id) FILTER (place = 1) AS record_id,
    any_value(detail) FILTER (place = 1) AS detail,
    count(DISTINCT record_id) AS results_n,
    count(DISTINCT run_id) AS runs_n,
    list(DISTINCT suite || '/' || model ORDER BY suite || '/' || model) AS models,
    list(DISTINCT test ORDER BY test) AS tests,
    list(DISTINCT backend ORDER BY backend) AS backends,
    coalesce(list(DISTINCT torch ORDER BY torch) FILTER (torch IS NOT NULL), []) AS torch,
    coalesce(list(DISTINCT torch_xla ORDER BY torch_xla) FILTER (torch_xla IS NOT NULL), []) AS torch_xla,
    arg_min(run_id, (run_started, run_id)) AS first_run_id,
    arg_min(run_label, (run_started, run_id)) AS first_run_label,
    min(run_started) AS first_started,
    arg_max(run_id, (run_started, run_id)) AS last_run_id,
    arg_max(run_label, (run_started, run_id)) AS last_run_label,
    max(run_started) AS last_started
FROM best
GROUP BY kind, signature
HAVING ($record IS NULL OR bool_or(record_id = $record))
    AND ($run IS NULL OR bool_or(run_id = $run))
    AND ($op IS NULL OR (kind = 'fallback_op' AND signature = 'aten::' || $op))
ORDER BY kind, results_n DESC, signature

-- name: fault_records
-- Grain: one row per record of $records: as its line was read, and the folder of its run.
SELECT r.record_id, whole_text(r) AS record, u.path AS run_folder
FROM records AS r
LEFT JOIN runs AS u USING (run_id)
WHERE r.record_id IN (SELECT unnest($records::VARCHAR[]))

-- name: fault_result
-- Grain: at most one row: the result that a record belongs to, of whatever replica it is.
SELECT s.record_id
FROM records AS r
JOIN result_rows AS s ON s.run_id = r.run_id AND s.result_id = r.result_id
WHERE r.record_id = $record
