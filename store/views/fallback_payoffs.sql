-- Grain: one row per result and fallback op that it calls, where the payoff of that op alone was measured: the newest
-- measurement of the same experiment in the same environment, on the same machine, with as many threads, the same batch
-- size and the same versions of torch and PyTorch/XLA. `payoff_run_id` measured it; numbers are those of view payoffs.
CREATE OR REPLACE VIEW fallback_payoffs AS
WITH measured AS (
    SELECT *, series_of(ordinary_id, environment, accelerator_model, machine_id) AS series_id
    FROM payoffs
)
SELECT
    c.run_id, c.result_id, c.experiment_id, c.environment, c.suite, c.model, c.test, c.backend, c.variant,
    c.accelerator, c.dtype, c.op, c.klass,
    p.run_id AS payoff_run_id, p.run_label AS payoff_run_label, p.run_started AS payoff_started,
    p.record_id AS payoff_record_id,
    p.ways, p.replaced_by, p.newly_called, p.replicas_ran_n, p.with_latency_s, p.without_latency_s,
    p.payoff, p.payoff_low, p.payoff_high, p.payoff_reason, p.gain
FROM fallback_calls AS c
JOIN result_rows AS r ON r.run_id = c.run_id AND r.result_id = c.result_id
JOIN measured AS p
    ON p.series_id = r.series_id
    AND p.op = c.op
    AND p.threads IS NOT DISTINCT FROM r.threads
    AND p.batch_size IS NOT DISTINCT FROM r.batch_size
    AND p.torch IS NOT DISTINCT FROM r.torch
    AND p.torch_xla IS NOT DISTINCT FROM r.torch_xla
QUALIFY row_number() OVER (
    PARTITION BY c.run_id, c.result_id, c.op ORDER BY p.run_started DESC, p.run_id
) = 1;
