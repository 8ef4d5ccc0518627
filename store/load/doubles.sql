-- Grain: one row: how many lines of `made` there are, how many records they hold, and how many of these are known.
SELECT
    count(*) AS lines_n,
    count(DISTINCT record_id) AS records_n,
    (SELECT count(*) FROM known) AS known_n
FROM made;
