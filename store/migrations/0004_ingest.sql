-- What ingest keeps beside the columns of 0001: further metrics, graphs, whole error messages, and how a file was read.

-- One row per scalar metric (a number, or a list of one number) of a record that has no column in `records`.
CREATE TABLE record_metrics (
    record_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    value DOUBLE NOT NULL
);

-- One row per compiled program of a record, in the order of the record.
CREATE TABLE record_graphs (
    record_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,           -- from 0
    kind VARCHAR NOT NULL,               -- 'fx' | 'hlo' | 'hlo_optimized' | 'inductor'
    fingerprint VARCHAR NOT NULL,
    ops BIGINT NOT NULL,
    fusions BIGINT,
    flops DOUBLE,
    bytes_accessed DOUBLE,
    op_histogram JSON
);

ALTER TABLE records ADD COLUMN error_type VARCHAR;
ALTER TABLE records ADD COLUMN error_message VARCHAR;    -- whole; `reason` is its one line

ALTER TABLE rejected_lines ADD COLUMN sha256 VARCHAR;    -- of the line without its end

-- Whether every line so far is a record of ours in standard JSON: a rebuild then need not validate it again.
ALTER TABLE ingested_files ADD COLUMN plain BOOLEAN;

UPDATE records SET
    error_type = json_extract_string(record, '$.error.type'),
    error_message = coalesce(json_extract_string(record, '$.error.message'), json_extract_string(record, '$.metrics.error'));

INSERT INTO record_graphs
SELECT record_id, g.position - 1, g.graph.kind, g.graph.fingerprint, g.graph.ops, g.graph.fusions, g.graph.flops,
    g.graph.bytes_accessed, g.graph.op_histogram
FROM (
    SELECT record_id, unnest(graphs) AS graph, generate_subscripts(graphs, 1) AS position
    FROM (
        SELECT record_id, from_json(json_extract(record, '$.graphs'),
            '[{"kind": "VARCHAR", "fingerprint": "VARCHAR", "ops": "BIGINT", "fusions": "BIGINT", "flops": "DOUBLE",
            "bytes_accessed": "DOUBLE", "op_histogram": "JSON"}]') AS graphs
        FROM records
        WHERE json_array_length(record, '$.graphs') > 0
    )
) AS g
WHERE g.graph.kind IS NOT NULL AND g.graph.fingerprint IS NOT NULL AND g.graph.ops IS NOT NULL;

INSERT INTO record_metrics
SELECT record_id, name, value
FROM (
    SELECT record_id, entry.key AS name,
        TRY_CAST(regexp_extract(entry.value::VARCHAR, '^\[?\s*([-+.0-9eE]+)\s*\]?$', 1) AS DOUBLE) AS value
    FROM (
        SELECT record_id, unnest(map_entries(from_json(json_extract(record, '$.metrics'), '"MAP(VARCHAR, JSON)"'))) AS entry
        FROM records
    )
)
WHERE value IS NOT NULL AND name NOT IN (
    'total_time', 'per_iter_time', 'trace_per_iter_time', 'xla_CompileTime_time_s', 'dynamo_compile_time_s',
    'graphs_number', 'runtime_start_s', 'load_time_s', 'start_time_s', 'peak_memory_bytes', 'setup_peak_memory_bytes',
    'eager_memory_bytes', 'error'
);

-- Whole records are most of the index: under zstd they take a fifth of the place of DuckDB's own choice, and half its time.
ALTER TABLE records ADD COLUMN text JSON USING COMPRESSION zstd;
UPDATE records SET text = record;
ALTER TABLE records DROP COLUMN record;
ALTER TABLE records RENAME COLUMN text TO record;
