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
