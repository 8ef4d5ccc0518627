-- Grain: as run_status: one row per run_id × suite × test × accelerator × backend × variant × environment. How much of
-- the plan ran, and how much of what answered was verified; every other entry of the plan is in one class: planned =
-- ran + verify_only + never_steady + disturbed + skipped + not_run + the seven failures. `verified_rate` is NULL, not 0
-- %, if no verification was requested.
CREATE OR REPLACE VIEW rates AS
SELECT
    *,
    ran_n / planned_n AS ran_rate,
    CASE WHEN verify_asked AND answered_n > 0 THEN verified_n / answered_n END AS verified_rate
FROM run_status;
