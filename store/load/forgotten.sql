-- Grain: one row per record that only the files of parameter `paths` hold.
CREATE OR REPLACE TEMP TABLE forgotten AS
SELECT record_id
FROM record_sources
GROUP BY record_id
HAVING bool_and(list_contains($paths::VARCHAR[], path));
