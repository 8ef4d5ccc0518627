-- Grain: one row per import of numbers that others published: what it holds, and where it was read.
SELECT
    r.run_id, any_value(r.run_label) AS run_label, r.source, min(r.run_started) AS run_started,
    count(*) AS records_n,
    count(DISTINCT (r.suite, r.model)) AS models_n,
    string_agg(DISTINCT r.backend, ', ' ORDER BY r.backend) AS backends,
    string_agg(DISTINCT r.test, ', ' ORDER BY r.test) AS tests,
    string_agg(DISTINCT json_extract_string(r.record, '$.reported.origin'), ', ') AS origin,
    min(s.path) AS path
FROM records AS r
LEFT JOIN record_sources AS s USING (record_id)
WHERE r.purpose = 'reported'
GROUP BY r.run_id, r.source
ORDER BY run_started DESC, run_label
