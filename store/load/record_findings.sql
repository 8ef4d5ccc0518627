-- Grain: one row per finding of a record of `parsed`.
INSERT INTO record_findings BY NAME
SELECT record_id, finding.code AS code, coalesce(finding.text, '') AS text, finding.next_step AS next_step
FROM (SELECT record_id, unnest(r.findings) AS finding FROM parsed WHERE len(r.findings) > 0);
