-- Grain: one row: what the stale runs have, so that the steps of what they have not are left out. `whole`: all results of some
-- run are recomputed.
SELECT
    EXISTS (FROM stale_runs WHERE result_id IS NULL AND run_id IN (SELECT run_id FROM stale_now)) AS whole,
    EXISTS (FROM result_rows WHERE run_id IN (SELECT run_id FROM stale_now)) AS had_results,
    EXISTS (FROM aa_pair_rows WHERE run_id IN (SELECT run_id FROM stale_now)) AS had_pairs,
    EXISTS (
        FROM records
        WHERE run_id IN (SELECT run_id FROM stale_now) AND (purpose = 'calibration' OR twin_of IS NOT NULL)
    ) AS has_pairs
