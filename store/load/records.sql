-- Grain: one row per record of `made`.
INSERT INTO records BY NAME
SELECT
    * EXCLUDE (line_id, id_hash, path, line_number, byte_offset),
    result_of(run_id, experiment_id, environment) AS result_id
FROM made;
