-- Grain: one row per file beside the records of one experiment of a run, every process and attempt of it.
SELECT
    p.record_id, p.purpose, p.replica, p.attempt, a.kind, a.path, a.repeat, a.bytes,
    regexp_replace(a.path, '^artifacts/[^/]*/', '') AS file,
    list_extract(
        list_filter(
            from_json(p.record -> '$.artifacts', '[{"path":"VARCHAR","note":"VARCHAR"}]'),
            lambda listed: listed.path = a.path
        ), 1
    ).note AS note
FROM records AS p
JOIN record_artifacts AS a ON a.record_id = p.record_id
WHERE p.run_id = $run AND p.result_id = result_of($run, $experiment, $environment)
ORDER BY a.kind, p.attempt DESC, p.replica, a.repeat NULLS FIRST, a.path
