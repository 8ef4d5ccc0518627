-- Grain: one row per process (replica) and round of a result of run $run: the round's median seconds per iteration, with
-- what has to agree before it may be compared. Of the attempt that the results show; valid measurements only.
WITH chosen AS (
    SELECT q.run_id, q.experiment_id, q.environment, r.attempt, r.purpose, q.reason, q.ran, q.verification_code
    FROM results AS q
    JOIN records AS r USING (record_id)
    WHERE q.run_id = $run
    UNION ALL
    -- A confirmation is no result; of its attempts the newest counts, of its processes the first that ran.
    SELECT run_id, experiment_id, environment, attempt, purpose, reason, ran, verification_code
    FROM records
    WHERE run_id = $run AND purpose = 'confirmation'
    QUALIFY row_number() OVER (
        PARTITION BY run_id, experiment_id, environment ORDER BY attempt DESC, ran DESC, replica
    ) = 1
)
SELECT
    r.experiment_id, r.environment, r.suite, r.model, r.test, r.accelerator, r.variant, r.backend, r.replica, s.round,
    median(s.per_iter_s) AS round_s,
    count(s.per_iter_s) AS blocks_n,
    r.machine_id, r.accelerator_model, r.threads, r.dtype, r.batch_size, r.requested_batch_size, r.optimizer, r.loss,
    r.matmul_precision, r.workload, r.start, r.iterations_per_run, r.torch, r.torch_xla,
    json_extract_string(r.record, '$.measurement.order') AS "order",
    c.ran, c.verification_code, c.reason
FROM chosen AS c
JOIN records AS r
    ON r.run_id = c.run_id AND r.experiment_id = c.experiment_id AND r.environment IS NOT DISTINCT FROM c.environment
    AND r.attempt = c.attempt AND r.purpose = c.purpose AND r.twin_of IS NULL
LEFT JOIN samples AS s ON s.record_id = r.record_id AND s.kind = 'steady' AND s.per_iter_s > 0
GROUP BY ALL
ORDER BY r.suite, r.model, r.test, r.variant, r.environment, r.replica, s.round
