-- Grain: one row per record of `made`.
INSERT INTO records BY NAME
SELECT * EXCLUDE (line_id)
FROM made;
