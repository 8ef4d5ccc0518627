-- Grain: one row per suite × model × test × accelerator that the store's newest runs measured: how long its records took
-- in wall time. A run writes one record after the other; what passed since the record before belongs to the group that
-- wrote it, whose members take turns, so it is shared among them. A break of more than an hour is a pause, no work.
WITH newest AS (
    SELECT DISTINCT run_id, run_started
    FROM records
    WHERE finished_at IS NOT NULL AND purpose <> 'reported'
    ORDER BY run_started DESC
    LIMIT 30
),
gaps AS (
    SELECT
        run_id, suite, model, test, accelerator,
        epoch(finished_at - coalesce(lag(finished_at) OVER (PARTITION BY run_id ORDER BY finished_at), run_started))
            AS gap_s
    FROM records
    JOIN newest USING (run_id, run_started)
    WHERE finished_at IS NOT NULL
),
measured AS (
    SELECT suite, model, test, accelerator, sum(gap_s) / count(*) AS seconds, count(*) AS records_n
    FROM gaps
    WHERE gap_s BETWEEN 0 AND 3600
    GROUP BY run_id, suite, model, test, accelerator
)
SELECT suite, model, test, accelerator, median(seconds) AS seconds, sum(records_n)::BIGINT AS records_n
FROM measured
GROUP BY suite, model, test, accelerator
ORDER BY suite, model, test, accelerator
