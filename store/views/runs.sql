-- Grain: one row per run_id.
CREATE OR REPLACE VIEW runs AS
WITH counts AS (
    SELECT
        run_id,
        any_value(run_label) AS run_label,
        any_value(run_started) AS run_started,
        any_value(source) AS source,
        any_value(plan_known) AS plan_known,
        string_agg(DISTINCT torch, ', ' ORDER BY torch) AS torch,
        string_agg(DISTINCT torch_xla, ', ' ORDER BY torch_xla) AS torch_xla,
        string_agg(DISTINCT host, ', ' ORDER BY host) AS host,
        string_agg(DISTINCT machine_id, ', ' ORDER BY machine_id) AS machine_id,
        string_agg(DISTINCT accelerator_model, ', ' ORDER BY accelerator_model) AS accelerator_model,
        count(*) AS planned_n,
        count(*) FILTER (ran) AS ran_n,
        count(*) FILTER (is_failed(ran, status)) AS failed_n,
        count(*) FILTER (status = 'verify_only') AS verify_only_n,
        count(*) FILTER (status = 'never_steady') AS never_steady_n,
        count(*) FILTER (status = 'disturbed') AS disturbed_n,
        count(*) FILTER (status = 'skipped') AS skipped_n,
        count(*) FILTER (status = 'not_run') AS not_run_n,
        max(finished_at) AS last_finished
    FROM result_rows
    GROUP BY run_id
),
files AS (
    SELECT s.run_id, any_value(s.command) AS command, min(s.path) AS path, max(f.ingested_at) AS ingested_at
    FROM run_sources AS s
    JOIN ingested_files AS f USING (path)
    GROUP BY s.run_id
)
SELECT
    c.* EXCLUDE (last_finished),
    coalesce(l.command, f.command) AS command,
    c.not_run_n = 0 AS complete,
    c.last_finished,
    coalesce(f.ingested_at, i.ingested_at) AS ingested_at,
    regexp_replace(coalesce(f.path, l.path), '/(results\.jsonl([.-][0-9]+)*(\.gz|\.zst)?|run\.json)$', '') AS path
FROM counts AS c
LEFT JOIN latest_run_files AS l USING (run_id)
LEFT JOIN files AS f USING (run_id)
LEFT JOIN ingested_files AS i ON i.path = l.path;
