-- Grain: one row per record that a HUD file gave: a row of a performance, accuracy or `--xla` run, its numbers side by
-- side. What the harness writes as 0 for want of a number is NULL; peaks of a row that did not fail stay 0 as theirs.
CREATE OR REPLACE VIEW hud_reported AS
WITH pivoted AS (
    SELECT
        r.run_id, r.run_label, r.run_started, r.source, r.record_id, r.suite, r.model, r.test, r.dtype, r.accelerator,
        r.accelerator_model, r.environment, r.machine_id, r.backend, r.variant, r.batch_size, r.attempt, r.status, r.reason,
        r.compiler_time_s,
        json_extract_string(r.record, '$.reported.kind') AS kind,
        json_extract_string(r.record, '$.reported.accuracy') AS accuracy,
        json_extract_string(r.record, '$.reported.tag') AS tag,
        max(m.value) FILTER (m.name = 'hud_speedup') AS hud_speedup,
        max(m.value) FILTER (m.name = 'abs_latency_ms') AS abs_latency_ms,
        max(m.value) FILTER (m.name = 'compilation_latency_s') AS compilation_latency_s,
        max(m.value) FILTER (m.name = 'compression_ratio') AS compression_ratio,
        max(m.value) FILTER (m.name = 'eager_peak_gb') AS eager_peak_gb,
        max(m.value) FILTER (m.name = 'dynamo_peak_gb') AS dynamo_peak_gb,
        max(m.value) FILTER (m.name = 'time_baseline_s') AS time_baseline_s,
        max(m.value) FILTER (m.name = 'time_xla_s') AS time_xla_s,
        max(m.value) FILTER (m.name = 'prior_speedup') AS prior_speedup,
        max(m.value) FILTER (m.name = 'speedup_vs_prior') AS speedup_vs_prior,
        max(m.value) FILTER (m.name = 'cache_lookup_latency_s') AS cache_lookup_latency_s,
        TRY_CAST(max(m.value) FILTER (m.name = 'calls_captured') AS BIGINT) AS calls_captured,
        TRY_CAST(max(m.value) FILTER (m.name = 'unique_graphs') AS BIGINT) AS unique_graphs,
        TRY_CAST(max(m.value) FILTER (m.name = 'fallbacks_to_eager') AS BIGINT) AS fallbacks_to_eager,
        TRY_CAST(max(m.value) FILTER (m.name = 'graph_breaks') AS BIGINT) AS graph_breaks,
        TRY_CAST(max(m.value) FILTER (m.name = 'unique_graph_breaks') AS BIGINT) AS unique_graph_breaks,
        TRY_CAST(max(m.value) FILTER (m.name = 'autograd_captures') AS BIGINT) AS autograd_captures,
        TRY_CAST(max(m.value) FILTER (m.name = 'autograd_compiles') AS BIGINT) AS autograd_compiles,
        TRY_CAST(max(m.value) FILTER (m.name = 'cudagraph_skips') AS BIGINT) AS cudagraph_skips
    FROM records AS r
    LEFT JOIN record_metrics AS m ON m.record_id = r.record_id
    WHERE r.purpose = 'reported' AND r.source IN ('hud-csv', 'hud-json')
    GROUP BY ALL
)
SELECT * REPLACE (
    nullif(hud_speedup, 0) AS hud_speedup,
    nullif(coalesce(abs_latency_ms, time_xla_s * 1000), 0) AS abs_latency_ms,
    nullif(compilation_latency_s, 0) AS compilation_latency_s,
    nullif(compression_ratio, 0) AS compression_ratio
)
FROM pivoted;
