-- What a run that only verifies says of results that another run timed without verifying them, as a first look does: their
-- `verification_code` is what the newest later run of the same series and versions found that came to a verdict (or, where
-- none did, the newest). Once it is no more, the code is again the one of the record. Few series have such a run.
UPDATE result_rows AS r
SET verification_code = now.code
FROM (
    SELECT
        t.run_id, t.series_id,
        coalesce(
            arg_max(c.verification_code, (is_checked(c.verification_code), c.run_started)),
            any_value(d.verification_code)
        ) AS code
    FROM result_rows AS t
    JOIN records AS d ON d.record_id = t.detail_record_id AND d.run_id = t.run_id
    LEFT JOIN result_rows AS c
        ON c.series_id = t.series_id AND c.status = 'verify_only' AND c.run_started > t.run_started
        AND c.torch IS NOT DISTINCT FROM t.torch AND c.torch_xla IS NOT DISTINCT FROM t.torch_xla
    WHERE t.ran AND t.series_id IN (SELECT unnest($series::VARCHAR[]))
        AND coalesce(NOT is_checked(d.verification_code), true)
    GROUP BY t.run_id, t.series_id
) AS now
WHERE r.run_id = now.run_id AND r.series_id = now.series_id AND r.verification_code IS DISTINCT FROM now.code;
