-- Base tables of the index. Grain stands above each; times are seconds, sizes bytes, TIMESTAMPs are UTC.

-- One row per source file: how far it was consumed.
CREATE TABLE ingested_files (
    path VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,               -- 'jsonl' | 'run'
    device BIGINT NOT NULL,
    inode BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL,
    modified_ns BIGINT NOT NULL,
    consumed_bytes BIGINT NOT NULL,
    lines_n BIGINT NOT NULL,
    tail_hash VARCHAR NOT NULL,
    ingested_at TIMESTAMP NOT NULL
);

-- One row per bad line (or bad run.json) of a source file.
CREATE TABLE rejected_lines (
    path VARCHAR NOT NULL,
    line_number BIGINT NOT NULL,
    byte_offset BIGINT NOT NULL,
    reason VARCHAR NOT NULL
);

-- One row per (record, file that holds it): a replaced file takes along the records that only it held.
CREATE TABLE record_sources (
    record_id VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    byte_offset BIGINT NOT NULL
);

-- One row per run.json.
CREATE TABLE run_files (
    path VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    label VARCHAR NOT NULL,
    command VARCHAR NOT NULL,
    started TIMESTAMP NOT NULL,
    plan_id VARCHAR NOT NULL,
    settings JSON
);

-- One row per environment of a run.json.
CREATE TABLE run_environments (
    path VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    torch VARCHAR,
    torch_xla VARCHAR,
    host VARCHAR,
    machine_id VARCHAR,
    accelerator_model VARCHAR,
    threads INTEGER,
    facts JSON
);

-- One row per planned experiment and environment of a run.json.
CREATE TABLE plan_entries (
    path VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    experiment_id VARCHAR NOT NULL,
    environment VARCHAR NOT NULL,
    group_id VARCHAR NOT NULL,
    suite VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    test VARCHAR NOT NULL,
    backend VARCHAR NOT NULL,
    variant VARCHAR NOT NULL,
    accelerator VARCHAR NOT NULL,
    dtype VARCHAR,
    requested_batch_size BIGINT,
    optimizer VARCHAR,
    loss VARCHAR,
    matmul_precision VARCHAR,
    cache VARCHAR,
    skip_reason VARCHAR
);

-- One row per record: one measuring process of one experiment in one run and attempt.
CREATE TABLE records (
    record_id VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    experiment_id VARCHAR NOT NULL,
    environment VARCHAR,
    source VARCHAR NOT NULL,             -- 'xlabench' | 'peer'
    purpose VARCHAR NOT NULL,
    twin_of VARCHAR,
    replica INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    run_label VARCHAR,
    command VARCHAR,
    run_started TIMESTAMP NOT NULL,
    suite VARCHAR NOT NULL,
    model VARCHAR NOT NULL,
    test VARCHAR NOT NULL,
    backend VARCHAR NOT NULL,
    variant VARCHAR NOT NULL,
    accelerator VARCHAR NOT NULL,
    accelerator_model VARCHAR,
    machine_id VARCHAR,
    host VARCHAR,
    torch VARCHAR,
    torch_xla VARCHAR,
    threads INTEGER,
    dtype VARCHAR,
    batch_size BIGINT,
    requested_batch_size BIGINT,
    optimizer VARCHAR,
    loss VARCHAR,
    matmul_precision VARCHAR,
    cache VARCHAR,
    start VARCHAR,
    instrumented BOOLEAN,
    status VARCHAR NOT NULL,
    ran BOOLEAN NOT NULL,
    failure_phase VARCHAR,
    reason VARCHAR,
    verification_code VARCHAR,
    iterations_per_run BIGINT,
    repeat BIGINT,
    steady_n BIGINT NOT NULL,
    steady_s DOUBLE[] NOT NULL,          -- per iteration
    latency_s DOUBLE,
    latency_low_s DOUBLE,
    latency_high_s DOUBLE,
    latency_spread DOUBLE,
    first_iteration_s DOUBLE,
    time_to_steady_s DOUBLE,
    compile_peer_s DOUBLE,
    peer_exec_s DOUBLE,
    peer_exec_std_s DOUBLE,
    compiler_time_s DOUBLE,
    compiler_source VARCHAR,
    graphs_number DOUBLE,
    trace_s DOUBLE,
    runtime_start_s DOUBLE,
    load_time_s DOUBLE,
    start_time_s DOUBLE,
    peak_memory_bytes DOUBLE,
    setup_peak_memory_bytes DOUBLE,
    eager_memory_bytes DOUBLE,
    finished_at TIMESTAMP,
    warnings VARCHAR[] NOT NULL,
    reproduce VARCHAR,
    content_hash VARCHAR NOT NULL,
    record JSON NOT NULL
);

-- One row per timed block of a record, in order.
CREATE TABLE samples (
    record_id VARCHAR NOT NULL,
    block INTEGER NOT NULL,
    kind VARCHAR NOT NULL,               -- 'first' | 'warmup' | 'steady'
    round INTEGER,
    total_s DOUBLE,
    per_iter_s DOUBLE,
    trace_s DOUBLE,
    compiles BIGINT,
    executions BIGINT
);

-- One row per op of a record that XLA did not lower.
CREATE TABLE record_fallback_ops (
    record_id VARCHAR NOT NULL,
    op VARCHAR NOT NULL,
    klass VARCHAR NOT NULL,
    calls_per_iteration DOUBLE,
    calls_compile BIGINT,
    time_s DOUBLE,
    call_site VARCHAR
);

-- One row per graph break reason of a record.
CREATE TABLE record_graph_breaks (
    record_id VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    count BIGINT NOT NULL
);

-- One row per file beside a record; `path` is relative to its run folder.
CREATE TABLE record_artifacts (
    record_id VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    repeat INTEGER,
    bytes BIGINT
);

-- One row per run whose result_rows have to be recomputed before the next snapshot.
CREATE TABLE stale_runs (run_id VARCHAR NOT NULL);

-- One row per degree of freedom: the 97.5 % quantile of Student's t, which DuckDB cannot compute.
CREATE TABLE t_quantiles (freedom INTEGER NOT NULL, t DOUBLE NOT NULL);

-- One row per fact about this index.
CREATE TABLE index_facts (name VARCHAR NOT NULL, value VARCHAR NOT NULL);
