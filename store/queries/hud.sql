-- Queries of the HUD's summary.

-- name: hud_rows
-- Grain: as view hud_rows, of one run.
SELECT * EXCLUDE (series_id, settings_id)
FROM hud_rows
WHERE run_id = $run AND /*filters without run*/
ORDER BY suite, test, dtype, accelerator, model, batch_size, variant, environment

-- name: hud_runs
-- Grain: one row per run that has rows under the HUD's rule, newest first.
SELECT run_id, any_value(run_label) AS run_label, max(run_started) AS run_started, any_value(source) AS source
FROM (
    SELECT run_id, run_label, run_started, source
    FROM result_rows
    WHERE status NOT IN ('skipped', 'not_run')
    UNION ALL
    SELECT run_id, run_label, run_started, source
    FROM records
    WHERE purpose = 'reported' AND source IN ('hud-csv', 'hud-json')
)
WHERE len($run::VARCHAR[]) = 0 OR list_contains($run::VARCHAR[], run_id)
GROUP BY run_id
ORDER BY run_started DESC, run_id

-- name: hud_summary
-- Grain: as hud_summary(baseline_backend, baseline_run), of one run.
SELECT *
FROM hud_summary($baseline_backend, $baseline_run)
WHERE run_id = $run AND /*filters without run model*/
ORDER BY suite, test, dtype, accelerator, variant, environment
