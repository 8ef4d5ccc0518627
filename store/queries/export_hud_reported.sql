-- Grain: as view hud_reported, of one run.
SELECT *
FROM hud_reported
WHERE run_id = $run
