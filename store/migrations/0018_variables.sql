-- A policy names all variables that change how the libraries work, as it does of new records: those of the record.
UPDATE records SET policy = concat_ws(', ',
    array_to_string(list_sort(list_distinct(list_concat(
        list_filter(string_split(coalesce(policy, ''), ', '), lambda part: contains(part, '=')), more
    ))), ', '),
    nullif(array_to_string(list_filter(
        string_split(coalesce(policy, ''), ', '), lambda part: part <> 'libraries' AND NOT contains(part, '=')
    ), ', '), '')
)
FROM (
    SELECT
        record_id,
        list_filter(list_transform(
            list_filter(
                json_keys(variables),
                lambda name: regexp_full_match(name, '[A-Z0-9_]+')
                    AND NOT regexp_matches(name, '_(DIR|HOME|PATH|NUM_THREADS)$|^(PJRT|OPENBLAS)_')
                    AND NOT list_contains([
                        'CUDA_VISIBLE_DEVICES', 'JAX_ENABLE_COMPILATION_CACHE', 'JAX_PLATFORMS', 'KMP_DUPLICATE_LIB_OK',
                        'KMP_INIT_AT_FORK', 'NPROC', 'XLA_DISABLE_FUNCTIONALIZATION', 'XLA_EXPERIMENTAL', 'XLA_FLAGS'
                    ], name)
                    AND NOT contains(', ' || policy, ', ' || name || '=')
            ),
            lambda name: name || '='
                || nullif(upper(regexp_replace(variables ->> ('$.' || name), '\s', '', 'g')), '')
        ), lambda part: part IS NOT NULL) AS more
    FROM (SELECT record_id, coalesce(policy, '') AS policy, json_extract(record, '$.environment.variables') AS variables
        FROM records)
) AS given
WHERE given.record_id = records.record_id AND len(more) > 0;
