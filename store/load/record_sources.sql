-- Grain: one row per record of `made` and place where it stands.
INSERT INTO record_sources BY NAME
SELECT record_id, path, byte_offset
FROM made;
