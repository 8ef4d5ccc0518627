-- Grain: one row per finding of a record of `made`.
SELECT line_id, record_id, finding.code AS code, coalesce(finding.text, '') AS text, finding.next_step AS next_step
FROM (SELECT line_id, record_id, unnest(record_findings) AS finding FROM made WHERE len(record_findings) > 0);
