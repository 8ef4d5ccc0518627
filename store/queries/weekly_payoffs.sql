-- Grain: one row per result of the runs $runs on the accelerator $accelerator and fallback op that it calls, whose payoff
-- was measured: as view fallback_payoffs, the largest proven gain first.
SELECT
    run_id, suite, model, test, backend, variant, environment, accelerator, op, ways, newly_called, replicas_ran_n,
    payoff, payoff_low, payoff_high, payoff_reason, gain, payoff_run_id, payoff_run_label, payoff_started
FROM fallback_payoffs
WHERE run_id IN (SELECT unnest($runs::VARCHAR[])) AND accelerator = $accelerator AND klass <> 'host_read'
ORDER BY gain DESC NULLS LAST, payoff DESC NULLS LAST, op, suite, model, test, variant, environment
