-- One row per compiled program of a record, in the order of the record.
CREATE TABLE record_graphs (
    record_id VARCHAR NOT NULL,
    position INTEGER NOT NULL,
    kind VARCHAR NOT NULL,
    fingerprint VARCHAR NOT NULL,
    ops BIGINT NOT NULL,
    fusions BIGINT,
    flops DOUBLE,
    bytes_accessed DOUBLE,
    op_histogram JSON
);
