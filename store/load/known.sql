-- Grain: one row per record of `made` that the index has.
CREATE OR REPLACE TEMP TABLE known AS
SELECT record_id
FROM records
WHERE record_id IN (SELECT record_id FROM made);
