-- Statements that remove the samples of pruned runs.

-- name: pruned_now
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

-- name: pruned_pools
-- What was computed from the samples of several processes together; a result that has none now keeps what it had.
CREATE OR REPLACE TEMP TABLE pools_now AS
SELECT run_id, result_id, experiment_id, environment, attempt, replicas_ran_n, steady_n, latency_s, latency_spread
FROM result_rows
WHERE run_id IN (SELECT run_id FROM pruned_now) AND replicas_ran_n > 1 AND latency_s IS NOT NULL;

DELETE FROM pruned_pools AS k
USING pools_now AS n
WHERE k.run_id = n.run_id AND k.result_id = n.result_id;

INSERT INTO pruned_pools BY NAME
FROM pools_now;

-- name: pruned_samples
-- Grain: one row per record of `pruned_now`: what stays of its steady blocks is the median of each round, of which verdicts
-- and A/A pairs are made.
UPDATE records AS r
SET
    pruned_at = n.pruned_at,
    kept_rounds = k.rounds,
    kept_rounds_s = k.rounds_s,
    block_kind = NULL, block_round = NULL, block_total_s = NULL, block_per_iter_s = NULL, block_trace_s = NULL,
    block_compile_s = NULL, block_execute_s = NULL, block_compiles = NULL, block_executions = NULL, block_loops = NULL,
    record = without_samples(r.record, n.pruned_at)
FROM pruned_now AS n
LEFT JOIN (
    SELECT record_id, list(round ORDER BY round) AS rounds, list(round_s ORDER BY round) AS rounds_s
    FROM (
        SELECT record_id, round, median(per_iter_s) AS round_s
        FROM (
            SELECT record_id, kind, round, coalesce(given_s, total_s / nullif(iterations_per_run, 0)) AS per_iter_s
            FROM (
                -- As view samples has them, which would unfold the blocks of all runs.
                SELECT
                    t.record_id, t.iterations_per_run, unnest(t.block_kind) AS kind, unnest(t.block_round) AS round,
                    unnest(t.block_total_s) AS total_s, unnest(t.block_per_iter_s) AS given_s
                FROM records AS t
                JOIN pruned_now AS i ON i.record_id = t.record_id AND i.run_id = t.run_id
            )
        )
        WHERE kind = 'steady' AND per_iter_s > 0
        GROUP BY record_id, round
    )
    GROUP BY record_id
) AS k ON k.record_id = n.record_id
WHERE r.record_id = n.record_id AND r.run_id = n.run_id;
