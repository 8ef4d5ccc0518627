-- Grain: one row per timed block of these runs, with what tells its experiment; those of
-- calibrations and confirmations too, which `purpose` tells, and those of A/A controls (`twin_of`).
SELECT
    r.run_id, r.experiment_id, r.environment, r.purpose, r.twin_of, r.replica, r.suite, r.model, r.test, r.backend, r.variant, s.*
FROM samples AS s
JOIN records AS r USING (record_id)
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[]))
ORDER BY r.experiment_id, r.environment, r.replica, s.block
