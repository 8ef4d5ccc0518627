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
