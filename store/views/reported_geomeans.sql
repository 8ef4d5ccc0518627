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
