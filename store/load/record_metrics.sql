-- Grain: one row per scalar metric (a number, or a list of one number) of a record of `made` that has no column in
-- `records`; none is larger than those that have.
SELECT line_id, record_id, name, value
FROM (
    SELECT
        line_id,
        record_id,
        entry.key AS name,
        TRY_CAST(regexp_extract(entry.value::VARCHAR, '^\[?\s*([-+.0-9eE]+)\s*\]?$', 1) AS DOUBLE) AS value
    FROM (SELECT line_id, record_id, unnest(record_metrics) AS entry FROM made WHERE len(record_metrics) > 0)
)
WHERE abs(value) <= 1e30;
