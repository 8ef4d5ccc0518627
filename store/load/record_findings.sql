-- Grain: one row per finding of a record of `parsed`.
SELECT line_id, record_id, finding.code AS code, coalesce(finding.text, '') AS text, finding.next_step AS next_step
FROM (SELECT line_id, record_id, unnest(r.findings) AS finding FROM parsed WHERE len(r.findings) > 0);
