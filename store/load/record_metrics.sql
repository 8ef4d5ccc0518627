-- Grain: one row per scalar metric (a number, or a list of one number) of a record of `parsed` that has no column in
-- `records`.
INSERT INTO record_metrics BY NAME
WITH entries AS (
    SELECT record_id, unnest(list_filter(
        map_entries(from_json(record, '{"metrics": "MAP(VARCHAR, JSON)"}').metrics),
        lambda e: e.key NOT IN (
            'total_time', 'per_iter_time', 'trace_per_iter_time', 'xla_CompileTime_time_s', 'dynamo_compile_time_s',
            'graphs_number', 'runtime_start_s', 'load_time_s', 'start_time_s', 'peak_memory_bytes',
            'setup_peak_memory_bytes', 'eager_memory_bytes', 'error'
        )
    )) AS entry
    FROM parsed
)
SELECT record_id, name, value
FROM (
    SELECT
        record_id,
        entry.key AS name,
        TRY_CAST(regexp_extract(entry.value::VARCHAR, '^\[?\s*([-+.0-9eE]+)\s*\]?$', 1) AS DOUBLE) AS value
    FROM entries
)
WHERE value IS NOT NULL;
