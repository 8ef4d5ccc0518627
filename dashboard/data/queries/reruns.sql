-- Grain: one row per result of a newer run in $runs that measured a series of the shown run again, the newest first. A
-- speedup is over the baseline of its own run.
SELECT
    series_id, suite, model, test, accelerator, backend, variant, environment, run_id, run_label, run_started, status, ran,
    verification_code, latency_s, steady_n, speedup
FROM speedups(
    $baseline_backend::VARCHAR, NULL, baseline_accelerator := $baseline_accelerator::VARCHAR, runs := $runs::VARCHAR[]
)
WHERE series_id IN (SELECT series_id FROM result_rows WHERE run_id = $run) AND status <> 'verify_only'
ORDER BY run_started DESC, run_id, variant
