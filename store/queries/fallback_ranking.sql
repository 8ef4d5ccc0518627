-- Grain: one row per op that XLA did not lower in the filtered results of a run; as view fallback_by_op, but over
-- all backends, tests and environments that the filters leave. The payoff is that of one result, with its interval: a
-- proven gain where there is one, the largest of several. Host reads last: nothing to lower.
-- $order `payoff`: proven gains first, the largest on top, and last the ops of which every measurement lies below 1;
-- between them what is not measured or not told apart, by its cost.
-- $order `saved`: what lowering it would save of an iteration at most, `saved_s` seconds: its time under the profiler, and no
-- more than an iteration takes.
-- `ranked_by` says what places the op by cost: its share of time where a profile knows it, else its calls.
WITH gains AS (
    SELECT op, payoffs_n, unnest(best), payoff_reason
    FROM (
        SELECT
            op,
            count(payoff) AS payoffs_n,
            arg_max({
                gain: gain, payoff: payoff, payoff_low: payoff_low, payoff_high: payoff_high, payoff_model: name
            }, (coalesce(gain, 0), payoff)) FILTER (payoff IS NOT NULL) AS best,
            any_value(payoff_reason) AS payoff_reason
        FROM (
            SELECT
                *,
                CASE WHEN min(suite) OVER same = max(suite) OVER same THEN model ELSE suite || '/' || model END AS name
            FROM fallback_payoffs
            WHERE /*filters*/
            WINDOW same AS (PARTITION BY model)
        )
        GROUP BY op
    )
),
ranked AS (
    SELECT op, unnest(totals), CASE WHEN totals.time_n > 0 THEN 'time' ELSE 'calls' END AS ranked_by, saved_s
    FROM (
        SELECT
            op,
            fallback_totals(c) AS totals,
            max(least(time_s, coalesce(profiled_iteration_s, latency_s))) FILTER (time_s IS NOT NULL) AS saved_s
        FROM fallback_calls AS c
        WHERE /*filters*/
        GROUP BY op
    )
)
SELECT
    r.*,
    coalesce(g.payoffs_n, 0) AS payoffs_n,
    g.gain, g.payoff, g.payoff_low, g.payoff_high, g.payoff_model, g.payoff_reason
FROM ranked AS r
LEFT JOIN gains AS g USING (op)
ORDER BY
    klass = 'host_read',
    CASE WHEN $order = 'payoff' THEN coalesce(gain, 0) END DESC NULLS LAST,
    CASE WHEN $order = 'payoff' AND gain = 1 THEN payoff END DESC NULLS LAST,
    CASE WHEN $order = 'blocked' THEN blocked_n END DESC NULLS LAST,
    saved_s DESC NULLS LAST,
    time_share DESC NULLS LAST,
    calls_per_iteration DESC NULLS LAST,
    steady_models_n DESC,
    op
