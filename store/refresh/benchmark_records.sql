-- Grain: one row per record of a stale run that counts: no calibration, no A/A control. Only what chooses among records
-- stands here; the last step joins the rest, so that sorting moves few columns.
-- Of several foreign records of one experiment in one run the last in its file counts, as the peer's aggregator has it;
-- `equals_n` says how many there are.
CREATE OR REPLACE TEMP TABLE benchmark_records AS
WITH placed AS (
    SELECT
        r.record_id, r.run_id, r.result_id, r.attempt, r.replica,
        min(s.path) AS path, arg_min(s.byte_offset, s.path) AS byte_offset
    FROM records AS r
    JOIN record_sources AS s ON s.record_id = r.record_id
    WHERE r.purpose = 'benchmark' AND r.twin_of IS NULL
        AND r.run_id IN (SELECT run_id FROM stale_now)
    GROUP BY ALL
)
SELECT * EXCLUDE (path, byte_offset), count(*) OVER same AS equals_n
FROM placed
WINDOW same AS (PARTITION BY run_id, result_id, attempt, replica)
QUALIFY row_number() OVER (same ORDER BY path DESC, byte_offset DESC) = 1;
