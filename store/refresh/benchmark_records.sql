-- Grain: one row per record of a stale run that counts: no calibration, no hidden twin.
-- Of several foreign records of one experiment in one run the last in its file counts, as the peer's aggregator has it;
-- `equals_n` says how many there are.
CREATE OR REPLACE TEMP VIEW benchmark_records AS
SELECT r.*, s.path, s.byte_offset,
    count(*) OVER same AS equals_n
FROM records AS r
JOIN (
    SELECT record_id, min(path) AS path, arg_min(byte_offset, path) AS byte_offset
    FROM record_sources
    GROUP BY record_id
) AS s USING (record_id)
WHERE r.purpose = 'benchmark' AND r.twin_of IS NULL
    AND r.run_id IN (SELECT run_id FROM stale_runs)
WINDOW same AS (PARTITION BY r.run_id, r.experiment_id, r.environment, r.attempt, r.replica)
QUALIFY row_number() OVER (same ORDER BY s.path DESC, s.byte_offset DESC) = 1;
