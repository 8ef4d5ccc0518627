-- A policy names the variables that change how threads wait, as it does of new records: those of the record.
UPDATE records SET policy = waiting || coalesce(replace(policy, 'libraries', ''), '')
FROM (
    SELECT
        record_id,
        concat_ws(', ',
            'GOMP_SPINCOUNT=' || nullif(upper(regexp_replace(variables ->> '$.GOMP_SPINCOUNT', '\s', '', 'g')), ''),
            'KMP_BLOCKTIME=' || nullif(upper(regexp_replace(variables ->> '$.KMP_BLOCKTIME', '\s', '', 'g')), ''),
            'KMP_LIBRARY=' || nullif(upper(regexp_replace(variables ->> '$.KMP_LIBRARY', '\s', '', 'g')), ''),
            'KMP_USER_LEVEL_MWAIT='
                || nullif(upper(regexp_replace(variables ->> '$.KMP_USER_LEVEL_MWAIT', '\s', '', 'g')), ''),
            'KMP_USE_YIELD=' || nullif(upper(regexp_replace(variables ->> '$.KMP_USE_YIELD', '\s', '', 'g')), ''),
            'OMP_WAIT_POLICY=' || nullif(upper(regexp_replace(variables ->> '$.OMP_WAIT_POLICY', '\s', '', 'g')), '')
        ) AS waiting
    FROM (SELECT record_id, json_extract(record, '$.environment.variables') AS variables FROM records)
) AS given
WHERE given.record_id = records.record_id AND waiting <> '' AND coalesce(starts_with(policy, 'libraries'), true);
