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
