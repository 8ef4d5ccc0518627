-- Grain: one row per record that counts and has a value under the peer's rule, in the order of the files: as $files
-- names them, others by path. A record that several files hold stands where it is last: the last one counts.
SELECT
    r.accelerator_model, r.model, r.backend, r.batch_size, r.run_started,
    CASE $metric WHEN 'compile' THEN r.compile_peer_s ELSE r.peer_exec_s END AS avg,
    CASE $metric WHEN 'compile' THEN 0.0 ELSE r.peer_exec_std_s END AS std,
    -- The peer's rule knows no such doubts, and uses these records as all others.
    r.status = 'disturbed' AS disturbed, r.verification_code IS NOT DISTINCT FROM 'FAIL' AS wrong
FROM processes() AS r
JOIN (
    SELECT record_id, max((coalesce(list_position($files::VARCHAR[], path), 0), path, byte_offset)) AS place
    FROM record_sources
    GROUP BY record_id
) AS s USING (record_id)
WHERE r.test = $test
    AND regexp_matches(coalesce(r.accelerator_model, r.accelerator), $accelerator, 'i')
    AND (len($suite::VARCHAR[]) = 0 OR list_contains($suite::VARCHAR[], r.suite))
    AND CASE $metric WHEN 'compile' THEN r.compile_peer_s ELSE r.peer_exec_s END IS NOT NULL
ORDER BY s.place
