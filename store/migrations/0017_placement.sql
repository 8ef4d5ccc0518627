-- A policy names the variables that change on which cores threads run, too, as it does of new records: those of the record.
UPDATE records SET policy = concat_ws(', ',
    array_to_string(list_sort(list_distinct(list_concat(
        list_filter(string_split(coalesce(policy, ''), ', '), lambda part: contains(part, '=')), placed
    ))), ', '),
    nullif(array_to_string(list_filter(
        string_split(coalesce(policy, ''), ', '), lambda part: part <> 'libraries' AND NOT contains(part, '=')
    ), ', '), '')
)
FROM (
    SELECT
        record_id,
        list_filter([
            'GOMP_CPU_AFFINITY='
                || nullif(upper(regexp_replace(variables ->> '$.GOMP_CPU_AFFINITY', '\s', '', 'g')), ''),
            'KMP_AFFINITY=' || nullif(upper(regexp_replace(variables ->> '$.KMP_AFFINITY', '\s', '', 'g')), ''),
            'OMP_PLACES=' || nullif(upper(regexp_replace(variables ->> '$.OMP_PLACES', '\s', '', 'g')), ''),
            'OMP_PROC_BIND=' || nullif(upper(regexp_replace(variables ->> '$.OMP_PROC_BIND', '\s', '', 'g')), '')
        ], lambda part: part IS NOT NULL) AS placed
    FROM (SELECT record_id, json_extract(record, '$.environment.variables') AS variables FROM records)
) AS given
WHERE given.record_id = records.record_id AND len(placed) > 0;
