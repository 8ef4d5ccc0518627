-- Series: results of the same experiment, environment and machine, from run to run.

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
