-- Grain: one row per result of the series $series in a run that began after the shown one, the newest first.
SELECT series_id, variant, environment, run_id, run_label, run_started, status, ran, latency_s, steady_n
FROM result_rows
WHERE series_id IN (SELECT unnest($series::VARCHAR[]))
    AND run_started > (SELECT max(run_started) FROM result_rows WHERE run_id = $run)
    AND status <> 'verify_only'
ORDER BY run_started DESC, run_id, variant
