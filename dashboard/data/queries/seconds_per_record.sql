-- Grain: one row per suite × model × test × accelerator × variant that the store's newest runs measured: how long its
-- records took in wall time. A run writes one record after the other; what passed since the record before belongs to the
-- group that wrote it, whose members take turns: it is shared among them by what each spent on starting, loading and
-- its timed blocks, evenly where a record does not tell; runs whose samples were pruned are left out. A break of more
-- than an hour is a pause, no work.
WITH newest AS (
    SELECT DISTINCT run_id, run_started
    FROM records
    WHERE finished_at IS NOT NULL AND purpose <> 'reported' AND pruned_at IS NULL
    ORDER BY run_started DESC
    LIMIT 30
),
gaps AS (
    SELECT
        run_id, suite, model, test, accelerator, variant,
        epoch(finished_at - coalesce(lag(finished_at) OVER (PARTITION BY run_id ORDER BY finished_at), run_started))
            AS gap_s,
        coalesce(start_time_s, 0) + coalesce(load_time_s, 0) + coalesce(list_sum(
            CASE WHEN block_loops IS NULL THEN block_total_s
                ELSE list_transform(list_zip(block_total_s, block_loops), lambda block: block[1] * block[2]) END
        ), 0) AS own_s
    FROM records
    JOIN newest USING (run_id, run_started)
    WHERE finished_at IS NOT NULL
),
shared AS (
    SELECT
        run_id, suite, model, test, accelerator, variant,
        sum(gap_s) OVER own_group * coalesce(own_s / nullif(sum(own_s) OVER own_group, 0), 1 / count(*) OVER own_group)
            AS share_s
    FROM gaps
    WHERE gap_s BETWEEN 0 AND 3600
    WINDOW own_group AS (PARTITION BY run_id, suite, model, test, accelerator)
),
measured AS (
    SELECT suite, model, test, accelerator, variant, avg(share_s) AS seconds, count(*) AS records_n
    FROM shared
    GROUP BY run_id, suite, model, test, accelerator, variant
)
SELECT suite, model, test, accelerator, variant, median(seconds) AS seconds, sum(records_n)::BIGINT AS records_n
FROM measured
GROUP BY suite, model, test, accelerator, variant
ORDER BY suite, model, test, accelerator, variant
