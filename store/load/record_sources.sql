-- Grain: one row per line of `made`, and one per run and file that hold records.
INSERT INTO record_sources BY NAME
SELECT record_id, path, byte_offset FROM made;

INSERT INTO run_sources BY NAME
SELECT m.run_id, m.path, any_value(m.command) AS command
FROM made AS m
WHERE NOT EXISTS (FROM run_sources AS s WHERE s.run_id = m.run_id AND s.path = m.path)
GROUP BY m.run_id, m.path;
