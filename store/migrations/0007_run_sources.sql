-- One row per run_id and file that holds records of it, made with the run's results.
CREATE TABLE run_sources (
    run_id VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    command VARCHAR
);
