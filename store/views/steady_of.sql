-- Scalar macro, no grain: the numbers of a list of a record's metrics, one for each steady block; none where the record
-- has no such list.
CREATE OR REPLACE MACRO steady_of(record, name) AS coalesce([
    pair[1] FOR pair IN list_zip(
        from_json(json_extract(record, '$.metrics.' || name), '["DOUBLE"]'),
        from_json(json_extract(record, '$.measurement.blocks.kind'), '["VARCHAR"]')
    ) IF pair[1] IS NOT NULL AND pair[2] = 'steady'
], []);
