-- Grain: one row per record whose samples leave the index now: of a run that was decided to be pruned, finished by then.
-- As many runs as have so many records; one at least. A run whose results are still to be made keeps its samples, and
-- so does a payoff, which is computed from them each time.
CREATE OR REPLACE TEMP TABLE pruned_now AS
WITH decided AS (
    SELECT run_id, max(pruned_at) AS pruned_at
    FROM pruned_runs
    WHERE run_id NOT IN (SELECT run_id FROM stale_runs)
    GROUP BY run_id
),
leaving AS (
    SELECT r.record_id, r.run_id, d.pruned_at
    FROM records AS r
    JOIN decided AS d ON d.run_id = r.run_id
    WHERE r.pruned_at IS NULL AND r.purpose <> 'payoff' AND coalesce(r.finished_at, r.run_started) <= d.pruned_at
),
counts AS (
    SELECT run_id, count(*) AS records_n
    FROM leaving
    GROUP BY run_id
    QUALIFY sum(count(*)) OVER (ORDER BY run_id) - count(*) < $records
)
SELECT l.*
FROM leaving AS l
JOIN counts AS c ON c.run_id = l.run_id;
