-- Queries of page Runs, of page Jobs, and of the files beside records.

-- name: experiments
-- Grain: as view results, for the shown run. What page Runs shows or needs; `reproduce` alone is as long as all else.
SELECT
    run_id, experiment_id, environment, record_id, suite, model, test, accelerator, dtype, requested_batch_size, batch_size,
    machine_id, optimizer, loss, matmul_precision, workload, backend, variant, status, ran, reason, failure_phase,
    latency_s, steady_n, verification_code, replicas_n, attempt, reproduce
FROM result_rows
WHERE /*filters*/
ORDER BY suite, model, test, variant, environment

-- name: run_records
-- Grain: one row per record of the shown run: every process, attempt, twin and purpose, as its line was read.
SELECT
    suite, model, test, accelerator, variant, environment, purpose, replica, attempt, twin_of, status, reason,
    latency_s, steady_n, verification_code, finished_at, record_id
FROM records
WHERE /*filters*/
ORDER BY suite, model, test, variant, environment, attempt, purpose, replica

-- name: run_findings
-- Grain: as view findings, for the shown run: what speaks against a number, found in whatever process.
SELECT code, suite, model, test, accelerator, variant, environment, dtype, text, next_step, processes_n
FROM findings
WHERE /*filters*/
ORDER BY code, suite, model, test, variant, environment

-- name: run_warnings
-- Grain: one row per result of the shown run and warning of any of its processes (the attempt that is shown) that is no
-- finding: findings stand among a record's warnings, too.
WITH processes AS (
    SELECT r.suite, r.model, r.test, r.accelerator, r.variant, r.environment, p.record_id, p.warnings
    FROM (SELECT * FROM result_rows WHERE /*filters*/) AS r
    JOIN processes() AS p USING (run_id, result_id, attempt)
    WHERE len(p.warnings) > 0
),
said AS (
    SELECT * EXCLUDE (warnings), unnest(warnings) AS warning FROM processes
)
SELECT s.suite, s.model, s.test, s.accelerator, s.variant, s.environment, s.warning,
    count(DISTINCT s.record_id) AS processes_n
FROM said AS s
WHERE NOT EXISTS (
    SELECT 1 FROM record_findings AS f
    WHERE f.record_id = s.record_id AND s.warning = f.text || ': ' || f.next_step
)
GROUP BY ALL
ORDER BY s.suite, s.model, s.test, s.variant, s.environment, s.warning

-- name: one_record
-- Grain: one row per file that holds the record: its line, and its place in the file.
SELECT r.record_id, r.run_id, r.run_label, r.source, r.purpose, whole_text(r) AS record, s.path, s.byte_offset
FROM records AS r
LEFT JOIN record_sources AS s USING (record_id)
WHERE r.record_id = $record
ORDER BY s.path

-- name: run_file
-- Grain: one row per run.json of a run; a run that was read without one has none.
SELECT path
FROM run_files
WHERE run_id = $run
ORDER BY path

-- name: artifact_folders
-- Grain: one row per run folder that holds the record and its list of artifacts; only folders with a run.json of that
-- run count, so that a foreign results.jsonl names no file of whatever folder it lies in.
SELECT DISTINCT regexp_replace(sources.path, '[^/]*$', '') AS folder
FROM record_artifacts AS artifacts
JOIN records USING (record_id)
JOIN record_sources AS sources USING (record_id)
JOIN run_files AS files
    ON files.run_id = records.run_id
    AND files.path = regexp_replace(sources.path, '[^/]*$', '') || 'run.json'
WHERE artifacts.record_id = $record AND artifacts.path = $path
ORDER BY folder

-- name: trace_events
-- Grain: one row per complete event of a chrome trace, each thread's in order, what encloses others before them.
-- Process and thread are words in some rows ("Spans", "Traces").
SELECT event.pid, event.tid, event.cat, event.name, event.ts, event.dur
FROM (
    SELECT unnest(traceEvents) AS event
    FROM read_json(
        $path,
        maximum_object_size = $largest,
        columns = {
            traceEvents: 'STRUCT(ph VARCHAR, cat VARCHAR, name VARCHAR, pid VARCHAR, tid VARCHAR, ts DOUBLE, dur DOUBLE)[]'
        }
    )
)
WHERE event.ph = 'X' AND event.dur IS NOT NULL
ORDER BY event.pid, event.tid, event.ts, event.dur DESC
