-- What a new record changes: the results of its group, and no others of its run.
ALTER TABLE stale_runs ADD COLUMN result_id VARCHAR;      -- the result that changed; NULL: all results of the run

DROP TABLE IF EXISTS run_sources;

-- One row per run and file that holds records of it.
CREATE TABLE run_sources (
    run_id VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    command VARCHAR                      -- of one of these records
);

INSERT INTO run_sources
SELECT r.run_id, s.path, any_value(r.command) AS command
FROM records AS r
JOIN record_sources AS s USING (record_id)
GROUP BY r.run_id, s.path;
