-- Grain: as view fallback_ops, for one experiment of a run, with the newest payoff that was measured without the op.
SELECT
    o.op, o.klass, o.calls_per_iteration, o.calls_compile, o.time_s, o.call_site,
    p.payoff, p.payoff_low, p.payoff_high, p.payoff_reason, p.gain, p.payoff_run_label
FROM fallback_ops AS o
LEFT JOIN fallback_payoffs AS p ON p.run_id = o.run_id AND p.result_id = o.result_id AND p.op = o.op
WHERE o.run_id = $run AND o.result_id = result_of($run, $experiment, $environment)
ORDER BY o.time_s DESC NULLS LAST, o.calls_per_iteration DESC NULLS LAST, o.op
