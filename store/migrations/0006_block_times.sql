-- What XLA reports of a block: seconds in its compiler, and seconds of execution. They overlap with each other and with
-- tracing, so they are no parts of `total_s`. NULL where XLA took no part.
ALTER TABLE samples ADD COLUMN compile_s DOUBLE;
ALTER TABLE samples ADD COLUMN execute_s DOUBLE;
ALTER TABLE records ADD COLUMN warm_up_s DOUBLE;   -- the first five iterations, in whole blocks

UPDATE samples SET compile_s = f.compile_s, execute_s = f.execute_s
FROM (
    SELECT
        record_id,
        (generate_subscripts(total, 1) - 1)::INTEGER AS block,
        unnest(CASE WHEN len(compiling) = len(total) THEN compiling ELSE [] END) AS compile_s,
        unnest(CASE WHEN len(executing) = len(total) THEN executing ELSE [] END) AS execute_s
    FROM (
        SELECT
            record_id,
            from_json(json_extract(record, '$.metrics.total_time'), '["DOUBLE"]') AS total,
            from_json(json_extract(record, '$.metrics.xla_CompileTime_time_s'), '["DOUBLE"]') AS compiling,
            from_json(coalesce(
                json_extract(record, '$.metrics.xla_ExecuteTime_time_s'),
                json_extract(record, '$.metrics.xla_ExecutionTime_time_s')
            ), '["DOUBLE"]') AS executing
        FROM records
        WHERE json_type(record, '$.metrics.total_time') = 'ARRAY'
            AND (json_type(record, '$.metrics.xla_CompileTime_time_s') = 'ARRAY'
                OR json_type(record, '$.metrics.xla_ExecuteTime_time_s') = 'ARRAY'
                OR json_type(record, '$.metrics.xla_ExecutionTime_time_s') = 'ARRAY')
    )
) AS f
WHERE samples.record_id = f.record_id AND samples.block = f.block;

UPDATE records SET warm_up_s = w.warm_up_s
FROM (
    SELECT r.record_id, sum(s.total_s) AS warm_up_s
    FROM records AS r
    JOIN samples AS s
        ON s.record_id = r.record_id AND s.block < ceil(5 / coalesce(r.iterations_per_run, 1))
    WHERE r.ran
    GROUP BY r.record_id
) AS w
WHERE records.record_id = w.record_id;

-- Entries for each block are no scalars, also where there is one block.
DELETE FROM record_metrics WHERE starts_with(name, 'xla_') OR name = 'trace_total_time';
