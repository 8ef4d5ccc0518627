-- Grain: one row per stale run and file that holds records of it.
CREATE OR REPLACE TEMP VIEW sources_now AS
SELECT r.run_id, s.path, any_value(r.command) AS command
FROM records AS r
JOIN record_sources AS s USING (record_id)
WHERE r.run_id IN (SELECT run_id FROM stale_now)
GROUP BY r.run_id, s.path;
