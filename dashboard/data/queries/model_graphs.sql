-- Grain: one row per compiled program of one experiment in one run, in the order of its record.
SELECT
    g.position, g.kind, g.ops, g.fusions, g.flops, g.bytes_accessed, g.fingerprint,
    (
        SELECT string_agg(name || ' ' || number, ', ' ORDER BY number DESC, name)
        FROM (
            SELECT unnest(json_keys(g.op_histogram)) AS name,
                TRY_CAST(unnest(json_extract(g.op_histogram, '$.*')) AS BIGINT) AS number
        )
    ) AS operations
FROM result_rows AS r
JOIN record_graphs AS g ON g.record_id = coalesce(r.detail_record_id, r.record_id)
WHERE r.run_id = $run AND r.result_id = result_of($run, $experiment, $environment)
ORDER BY g.kind, g.position
