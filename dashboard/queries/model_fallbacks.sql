-- Grain: as view fallback_ops, for one experiment of a run.
SELECT op, klass, calls_per_iteration, calls_compile, time_s, call_site
FROM fallback_ops
WHERE run_id = $run AND experiment_id = $experiment AND environment IS NOT DISTINCT FROM $environment
ORDER BY time_s DESC NULLS LAST, calls_per_iteration DESC NULLS LAST, op
