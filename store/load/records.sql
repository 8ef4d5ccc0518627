-- Grain: one row per record of `made`.
INSERT INTO records BY NAME
SELECT * EXCLUDE (line_id, id_hash, path, line_number, byte_offset)
FROM made;
