-- Grain: one row per timed block of one record.
SELECT *
FROM samples
WHERE record_id = $record_id
ORDER BY block
