-- Grain: one row. How often verdicts of the runs $runs may be asked for while processes are added to ambiguous cells, as
-- their records say; the largest of them, 1 where no run adds any. A join leaves other
-- runs' records unread; list_contains would read the text of them all.
SELECT coalesce(max(TRY_CAST(json_extract_string(record, '$.measurement.looks') AS INTEGER)), 1) AS looks_n
FROM records
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
