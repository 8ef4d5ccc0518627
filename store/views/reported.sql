-- Views of numbers that others published.

-- name: reported_speedups
-- Grain: one row per published table × column of speedups × model. A speedup is over the table's own baseline, in its
-- words; the number of samples is not published.
CREATE OR REPLACE VIEW reported_speedups AS
SELECT
    r.run_id,
    json_extract_string(r.record, '$.reported.origin') AS origin,
    json_extract_string(r.record, '$.reported.baseline') AS baseline,
    json_extract_string(r.record, '$.reported.column') AS column_name,
    r.suite, r.model, r.test, r.accelerator, r.accelerator_model, r.dtype, r.backend,
    max(m.value) FILTER (m.name = 'reported_speedup') AS reported_speedup,
    max(m.value) FILTER (m.name = 'reported_latency_s') AS reported_latency_s,
    max(m.value) FILTER (m.name = 'reported_baseline_latency_s') AS reported_baseline_latency_s,
    json_extract(r.record, '$.reported.geomean')::DOUBLE AS published_geomean,
    json_extract_string(r.record, '$.reported.note') AS note,
    r.record_id
FROM records AS r
LEFT JOIN record_metrics AS m ON m.record_id = r.record_id
WHERE r.purpose = 'reported' AND r.source = 'table'
GROUP BY ALL;

-- name: reported_geomeans
-- Grain: one row per published table × column of speedups: the geometric mean over its `n` models, and the published
-- one if there is one.
CREATE OR REPLACE VIEW reported_geomeans AS
SELECT
    run_id, origin, baseline, column_name, suite, test, accelerator, accelerator_model, dtype, backend,
    count(*) FILTER (reported_speedup > 0) AS n,
    exp(avg(ln(CASE WHEN reported_speedup > 0 THEN reported_speedup END))) AS geomean,
    any_value(published_geomean) AS published_geomean,
    any_value(note) AS note
FROM reported_speedups
GROUP BY ALL;
