-- Retention (`xlabench prune`): whose samples leave the index, and what the results need of them.

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
    latency_spread DOUBLE
);

ALTER TABLE records ADD COLUMN pruned_at TIMESTAMP;       -- when its samples left the index; NULL: they are there
ALTER TABLE records ADD COLUMN kept_rounds INTEGER[];     -- of a record without samples: its rounds with steady blocks
ALTER TABLE records ADD COLUMN kept_rounds_s DOUBLE[];    -- and the median seconds per iteration of each
