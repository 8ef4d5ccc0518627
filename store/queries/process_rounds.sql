-- Grain: one row per process (replica) of a result of run $run: `rounds` and the median seconds per iteration of each,
-- `rounds_s`, both empty where nothing valid was timed, with what has to agree before it may be compared;
-- `near_floor` where a process of the result found its times to be. Of the attempt that the results show. A process that
-- gave no result (invalid, disturbed) has steady blocks, too, which count neither here nor in the result's latency. Joins
-- name the run again where that leaves the text of other runs' records unread.
WITH chosen AS (
    SELECT q.run_id, q.result_id, q.record_id, r.attempt, r.purpose, q.reason, q.ran, q.verification_code
    FROM result_rows AS q
    JOIN records AS r ON r.record_id = q.record_id AND r.run_id = q.run_id
    WHERE q.run_id = $run
    UNION ALL
    -- A confirmation is no result; of its attempts the newest counts, of its processes the first that ran.
    SELECT run_id, result_id, record_id, attempt, purpose, reason, ran, verification_code
    FROM records
    WHERE run_id = $run AND purpose = 'confirmation'
    QUALIFY row_number() OVER (
        PARTITION BY run_id, result_id ORDER BY attempt DESC, ran DESC, replica
    ) = 1
),
processes AS (
    SELECT
        r.* REPLACE (
            CASE WHEN r.ran THEN r.kept_rounds END AS kept_rounds, CASE WHEN r.ran THEN r.kept_rounds_s END AS kept_rounds_s
        ),
        c.ran AS result_ran, c.verification_code AS result_code, c.reason AS result_reason
    FROM chosen AS c
    JOIN records AS r
        ON r.run_id = $run AND r.result_id = c.result_id AND r.attempt = c.attempt AND r.purpose = c.purpose
        AND r.twin_of IS NULL
        -- Of several foreign records of one experiment the one that counts, as in the results.
        AND (r.source <> 'peer' OR r.record_id = c.record_id)
),
medians AS (
    SELECT record_id, coalesce(round, 0) AS round, median(per_iter_s) AS round_s
    FROM (
        -- As view samples has them, which would read the blocks of all runs.
        SELECT
            record_id, unnest(block_kind) AS kind, unnest(block_round) AS round,
            coalesce(unnest(block_per_iter_s), unnest(block_total_s) / nullif(iterations_per_run, 0)) AS per_iter_s
        FROM processes
        WHERE ran
    )
    WHERE kind = 'steady' AND per_iter_s > 0
    GROUP BY record_id, coalesce(round, 0)
),
timed AS (
    SELECT record_id, list(round ORDER BY round) AS rounds, list(round_s ORDER BY round) AS rounds_s
    FROM medians
    GROUP BY record_id
),
near AS (
    SELECT DISTINCT p.result_id
    FROM processes AS p
    JOIN record_findings AS f ON f.record_id = p.record_id AND f.code = 'near_floor'
)
SELECT
    p.experiment_id, p.environment, p.suite, p.model, p.test, p.accelerator, p.variant, p.backend, p.replica,
    coalesce(t.rounds, list_transform(p.kept_rounds, lambda round: coalesce(round, 0)), []) AS rounds,
    coalesce(t.rounds_s, p.kept_rounds_s, []) AS rounds_s,
    p.machine_id, p.accelerator_model, p.threads, p.dtype, p.batch_size,
    -- Of others' records only the batch size that was run is known, as in view comparable.
    CASE WHEN p.source = 'xlabench' THEN p.requested_batch_size ELSE p.batch_size END AS requested_batch_size,
    p.optimizer, p.loss, p.matmul_precision, p.workload, p.start, p.policy, p.iterations_per_run, p.torch, p.torch_xla,
    measured_as(NULL, p.threads, p.iterations_per_run, p.start, p.instrumented) AS measured,
    json_extract_string(p.record, '$.measurement.order') AS "order",
    p.result_ran AS ran, p.result_code AS verification_code, p.result_reason AS reason,
    n.result_id IS NOT NULL AS near_floor
FROM processes AS p
LEFT JOIN near AS n USING (result_id)
LEFT JOIN timed AS t USING (record_id)
ORDER BY p.suite, p.model, p.test, p.variant, p.environment, p.replica
