-- Grain: one row per record of a stale run that counts: no calibration, no A/A control. Only what chooses among records
-- stands here; the last step joins the rest, so that sorting moves few columns.
-- Of several foreign records of one experiment in one run the last in its file counts, as the peer's aggregator has it;
-- `equals_n` says how many there are. Only such records are looked up in their files.
CREATE OR REPLACE TEMP TABLE benchmark_records AS
WITH counted AS MATERIALIZED (
    SELECT record_id, run_id, result_id, attempt, replica, count(*) OVER same AS equals_n
    FROM processes()
    WHERE run_id IN (SELECT run_id FROM stale_now) AND is_stale(result_id)
    WINDOW same AS (PARTITION BY run_id, result_id, attempt, replica)
),
placed AS (
    SELECT c.record_id, min(s.path) AS path, arg_min(s.byte_offset, s.path) AS byte_offset
    FROM counted AS c
    JOIN record_sources AS s ON s.record_id = c.record_id
    WHERE c.equals_n > 1
        -- Only these files have records of the run: with this condition, a scan compares few record_ids.
        AND s.path IN (SELECT path FROM run_sources WHERE run_id IN (SELECT run_id FROM stale_now))
    GROUP BY c.record_id
)
SELECT c.*
FROM counted AS c
LEFT JOIN placed AS p ON p.record_id = c.record_id
QUALIFY row_number() OVER (
    PARTITION BY c.run_id, c.result_id, c.attempt, c.replica ORDER BY p.path DESC, p.byte_offset DESC
) = 1;
