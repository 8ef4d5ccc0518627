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
    ingested_at TIMESTAMP NOT NULL,
    plain BOOLEAN                        -- every line so far is a record of ours in standard JSON: a rebuild trusts it
);

-- One row per bad line (or bad run.json) of a source file.
CREATE TABLE rejected_lines (
    path VARCHAR NOT NULL,
    line_number BIGINT NOT NULL,
    byte_offset BIGINT NOT NULL,
    reason VARCHAR NOT NULL,
    sha256 VARCHAR                       -- of the line without its end
);

-- One row per (record, file that holds it): a replaced file takes along the records that only it held.
CREATE TABLE record_sources (
    record_id VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    byte_offset BIGINT NOT NULL
);

-- One row per run and file that holds records of it.
CREATE TABLE run_sources (
    run_id VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    command VARCHAR                      -- of one of these records
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
    skip_reason VARCHAR,
    workload VARCHAR                     -- what is timed beside dtype, batch size, loss and optimizer; NULL: the default
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
    finished_at TIMESTAMP,
    warnings VARCHAR[] NOT NULL,
    reproduce VARCHAR,
    workload VARCHAR,                    -- as in plan_entries; of foreign records NULL is unknown
    error_type VARCHAR,
    error_message VARCHAR,               -- whole; `reason` is its one line
    record JSON USING COMPRESSION zstd,  -- its text, in a fifth of the room of DuckDB's own choice; macro whole_text gives the whole one
    warm_up_s DOUBLE,                    -- the first five iterations, in whole blocks
    quiet_rule INTEGER,                  -- version of the rule that judged its turns; NULL: unknown
    policy VARCHAR,                      -- how threads waited, at which priority; NULL: unknown
    turns_n INTEGER,                     -- turns that were taken
    disturbed_turns_n INTEGER,           -- of these, disturbed ones, which are in no statistic
    -- The timed blocks as parallel lists: view `samples` has a row for each. XLA's seconds of compilation and execution
    -- overlap with each other and with tracing, so they are no parts of the total; NULL where XLA took no part.
    block_kind VARCHAR[],                -- 'first' | 'warmup' | 'steady' | 'unknown'
    block_round INTEGER[],
    block_total_s DOUBLE[],
    block_per_iter_s DOUBLE[],           -- where it is not block_total_s / iterations_per_run
    block_trace_s DOUBLE[],
    block_compile_s DOUBLE[],
    block_execute_s DOUBLE[],
    block_compiles BIGINT[],
    block_executions BIGINT[],
    pruned_at TIMESTAMP,                 -- when its samples left the index; NULL: they are there
    kept_rounds INTEGER[],               -- of a record without samples: its rounds with steady blocks
    kept_rounds_s DOUBLE[],              -- and the median seconds per iteration of each
    at_least_s DOUBLE,                   -- seconds that one iteration takes at least on a quiet machine
    at_most_s DOUBLE,                    -- the same, at most
    result_id VARCHAR                    -- the result that it is of: its run, experiment and environment
);

-- One row per op of a record that XLA did not lower.
CREATE TABLE record_fallback_ops (
    record_id VARCHAR NOT NULL,
    op VARCHAR NOT NULL,
    klass VARCHAR NOT NULL,
    calls_per_iteration DOUBLE,
    calls_compile BIGINT,
    time_s DOUBLE,
    call_site VARCHAR,
    profiled_iteration_s DOUBLE
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

-- One row per reason to doubt a record's numbers; `code` is a key of the table in store/advice.py.
CREATE TABLE record_findings (
    record_id VARCHAR NOT NULL,
    code VARCHAR NOT NULL,
    text VARCHAR NOT NULL,
    next_step VARCHAR
);

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

-- One row per pruned.json of a run folder: what the run had measured by then keeps its results, and loses its samples.
CREATE TABLE pruned_runs (
    path VARCHAR NOT NULL,
    run_id VARCHAR NOT NULL,
    pruned_at TIMESTAMP NOT NULL
);

-- One row per result of several processes whose samples left the index: what was computed from all of them together.
CREATE TABLE pruned_pools (
    run_id VARCHAR NOT NULL,
    experiment_id VARCHAR NOT NULL,
    environment VARCHAR,
    attempt INTEGER NOT NULL,
    replicas_ran_n BIGINT NOT NULL,
    steady_n HUGEINT NOT NULL,
    latency_s DOUBLE NOT NULL,
    latency_spread DOUBLE,
    result_id VARCHAR                    -- the result: its run, experiment and environment
);

-- One row per mark of a person, as state.sqlite has it: from `marked_at` on, the series that it names have a break in their history.
-- A NULL name takes all.
CREATE TABLE marks (
    mark_id BIGINT NOT NULL,
    marked_at TIMESTAMP NOT NULL,
    run_id VARCHAR,
    suite VARCHAR,
    model VARCHAR,
    test VARCHAR,
    backend VARCHAR,
    variant VARCHAR,
    environment VARCHAR,
    accelerator VARCHAR,
    accelerator_model VARCHAR,
    machine_id VARCHAR,
    text VARCHAR NOT NULL,
    who VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL
);

-- One row per series whose results changed since its change points were computed.
CREATE TABLE stale_series (series_id VARCHAR NOT NULL);

-- One row per mark and series that it names: series_id × mark_id.
CREATE TABLE series_marks (
    series_id VARCHAR NOT NULL,
    mark_id BIGINT NOT NULL,
    marked_at TIMESTAMP NOT NULL
);

-- One row per confirmed change of a series' latency: between run_before and run_after, within one epoch of the series
-- (the time between two marks).
CREATE TABLE change_points (
    series_id VARCHAR NOT NULL,
    epoch INTEGER NOT NULL,              -- marks before it
    run_before VARCHAR NOT NULL,
    run_after VARCHAR NOT NULL,
    started_before TIMESTAMP NOT NULL,
    started_after TIMESTAMP NOT NULL,
    latency_before_s DOUBLE NOT NULL,    -- medians of the runs between this change and its neighbours
    latency_after_s DOUBLE NOT NULL,
    change_ratio DOUBLE NOT NULL,        -- after / before: above 1 is slower
    change_low DOUBLE,                   -- its 95 % interval
    change_high DOUBLE,
    before_n INTEGER NOT NULL,           -- runs
    after_n INTEGER NOT NULL,
    p_value DOUBLE NOT NULL              -- Mann-Whitney, two-sided
);

-- One row per run, or result of a run, whose result_rows have to be recomputed before the next snapshot.
CREATE TABLE stale_runs (
    run_id VARCHAR NOT NULL,
    result_id VARCHAR                    -- the result that changed; NULL: all results of the run
);

-- One row per degree of freedom: the 97.5 % quantile of Student's t, which DuckDB cannot compute.
CREATE TABLE t_quantiles (freedom INTEGER NOT NULL, t DOUBLE NOT NULL);

-- One row per fact about this index.
CREATE TABLE index_facts (name VARCHAR NOT NULL, value VARCHAR NOT NULL);
