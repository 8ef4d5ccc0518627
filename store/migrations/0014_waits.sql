-- A warm-up block of a short operator repeats its iterations in an inner loop, and its time is that of one repetition: a
-- user waits for all of them. Pruned records have no blocks left and keep what they had until a rebuild.
UPDATE records SET time_to_steady_s = w.waited_s
FROM (
    SELECT
        record_id,
        list_sum(list_transform(
            list_filter(list_zip(block_total_s, block_kind, loops), lambda block: block[2] IN ('first', 'warmup')),
            lambda block: (block[1] - (ordered[(len(ordered) + 1) // 2] + ordered[len(ordered) // 2 + 1]) / 2)
                * greatest(coalesce(block[3], 1), 1)
        )) AS waited_s
    FROM (
        SELECT
            record_id, block_total_s, block_kind,
            from_json(json_extract(record, '$.measurement.blocks.inner_loops'), '["BIGINT"]') AS loops,
            list_sort(list_filter(
                list_where(block_total_s, list_transform(block_kind, lambda kind: kind = 'steady')),
                lambda total: total IS NOT NULL
            )) AS ordered
        FROM records
        WHERE time_to_steady_s IS NOT NULL
            AND json_type(record, '$.measurement.blocks.inner_loops') = 'ARRAY'
    )
    WHERE len(loops) = len(block_total_s)
) AS w
WHERE w.record_id = records.record_id;
