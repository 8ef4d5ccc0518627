-- Grain: one row per op that results of the shown run call without a profile, and that a profile of the same model, test,
-- backend and device in another run knows: what lowering it saves of an iteration at most there, as in fallback_ranking.
-- The tables under view fallback_calls: the view itself would be computed for every run of the store.
WITH unknown AS (
    SELECT DISTINCT op, suite, model, test, variant, accelerator, accelerator_model
    FROM fallback_calls
    WHERE time_s IS NULL AND /*filters*/
),
saved AS (
    SELECT
        o.op, r.run_label, r.run_started,
        least(o.time_s, coalesce(o.profiled_iteration_s, r.latency_s)) AS saved_s
    FROM record_fallback_ops AS o
    JOIN result_rows AS r ON r.detail_record_id = o.record_id
    JOIN unknown AS u
        ON u.op = o.op AND u.suite = r.suite AND u.model = r.model AND u.test = r.test AND u.variant = r.variant
        AND u.accelerator = r.accelerator AND u.accelerator_model IS NOT DISTINCT FROM r.accelerator_model
    WHERE o.time_s IS NOT NULL AND r.run_id <> $run
)
SELECT
    op,
    max(saved_s) AS saved_s,
    arg_max(run_label, saved_s) AS run_label,
    arg_max(run_started, saved_s) AS run_started
FROM saved
GROUP BY op
ORDER BY op
