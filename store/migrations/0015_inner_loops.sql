-- How often a timed block repeats its iterations, of records whose samples are there; NULL: each block takes them once.
ALTER TABLE records ADD COLUMN block_loops BIGINT[];

UPDATE records SET block_loops = list_transform(loops, lambda n: greatest(coalesce(n, 1), 1))
FROM (
    SELECT record_id, from_json(json_extract(record, '$.measurement.blocks.inner_loops'), '["BIGINT"]') AS loops
    FROM records
    WHERE json_type(record, '$.measurement.blocks.inner_loops') = 'ARRAY'
) AS given
WHERE given.record_id = records.record_id AND list_count(loops) > 0 AND len(loops) = len(block_total_s);
