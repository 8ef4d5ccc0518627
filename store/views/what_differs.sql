-- Grain of what_differs(run_a, run_b): one row per fact in which two runs differ, as text; NULL is unknown, or a field
-- that the other run does not have. `scope`: 'environment' (interpreter, packages, machine, by `environment` where a
-- run has several), 'settings' (how it was measured) or 'run' (command and plan). Of a run without a run.json the facts
-- are those of its records. The two times of a server's set-up are left out.
CREATE OR REPLACE MACRO what_differs(run_a, run_b) AS TABLE
WITH files AS (
    SELECT * FROM latest_run_files WHERE run_id IN (run_a, run_b)
),
environments AS (
    SELECT e.run_id, e.environment, e.facts
    FROM run_environments AS e
    JOIN files AS f ON f.path = e.path
    UNION ALL
    SELECT
        run_id, coalesce(environment, 'default'),
        json_object(
            'torch', string_agg(DISTINCT torch, ', ' ORDER BY torch),
            'torch_xla', string_agg(DISTINCT torch_xla, ', ' ORDER BY torch_xla),
            'host', string_agg(DISTINCT host, ', ' ORDER BY host),
            'machine_id', string_agg(DISTINCT machine_id, ', ' ORDER BY machine_id),
            'accelerator', string_agg(DISTINCT accelerator_model, ', ' ORDER BY accelerator_model),
            'threads', string_agg(DISTINCT threads::VARCHAR, ', ' ORDER BY threads::VARCHAR)
        )
    FROM result_rows
    WHERE run_id IN (run_a, run_b) AND NOT plan_known
    GROUP BY ALL
),
-- Where each run has one environment, these two are compared, whatever their names.
documents AS (
    SELECT
        run_id, 'environment' AS scope,
        CASE WHEN (SELECT count(*) = count(DISTINCT run_id) FROM environments) THEN '' ELSE environment END AS place,
        facts AS document
    FROM environments
    UNION ALL
    SELECT run_id, 'settings', '', settings FROM files
    UNION ALL
    SELECT run_id, 'run', '', json_object('command', command, 'plan', plan_id) FROM files
),
top AS (
    SELECT d.run_id, d.scope, d.place, e.key AS field, e.value
    FROM documents AS d, json_each(d.document) AS e
),
flat AS (
    SELECT run_id, scope, place, field, value ->> '$' AS value
    FROM top
    WHERE json_type(value) <> 'OBJECT'
    UNION ALL
    SELECT t.run_id, t.scope, t.place, t.field || '.' || e.key, e.value ->> '$'
    FROM (SELECT * FROM top WHERE json_type(value) = 'OBJECT') AS t, json_each(t.value) AS e
),
a AS (SELECT * FROM flat WHERE run_id = run_a),
b AS (SELECT * FROM flat WHERE run_id = run_b)
SELECT
    coalesce(a.scope, b.scope) AS scope,
    nullif(coalesce(a.place, b.place), '') AS environment,
    coalesce(a.field, b.field) AS field,
    a.value AS value_a,
    b.value AS value_b
FROM a
FULL JOIN b ON b.scope = a.scope AND b.place = a.place AND b.field = a.field
WHERE a.value IS DISTINCT FROM b.value
    AND coalesce(a.field, b.field) NOT IN ('toolchain_probe_s', 'server_import_s');
