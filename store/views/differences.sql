-- Views of what differs between two runs.

-- name: structural_differences
-- Grain of structural_differences(run_a, run_b, environment_a, environment_b, variant_a, variant_b): one row per experiment ×
-- environment × kind of compiled program in which two runs differ, of those whose programs both know; with two environments
-- or variants named, these are compared, also of one run; where each run has one environment, these two are, whatever their
-- names. Two variants are compared in the kinds that both have. Programs have no noise: a row here explains a change of
-- time. `changed_n` programs of B have a fingerprint that A has not; `op_changes` are the operations whose number differs.
CREATE OR REPLACE MACRO structural_differences(
    run_a, run_b, environment_a := NULL, environment_b := NULL, variant_a := NULL, variant_b := NULL
) AS TABLE
WITH keyed AS (
    SELECT
        run_id, result_id, environment, variant, coalesce(detail_record_id, record_id) AS detail_record_id,
        CASE WHEN variant_b IS NULL THEN experiment_id
            ELSE to_json([suite, model, test, accelerator, dtype, requested_batch_size::VARCHAR, optimizer, loss,
                matmul_precision, workload])::VARCHAR END AS match
    FROM result_rows
    WHERE run_id IN (run_a, run_b)
),
results_of AS (
    SELECT 'a' AS side, match, environment, detail_record_id
    FROM keyed
    WHERE run_id = run_a AND (environment_a IS NULL OR environment = environment_a)
        AND (variant_a IS NULL OR variant = variant_a)
    UNION ALL
    SELECT 'b', match, environment, detail_record_id
    FROM keyed
    WHERE run_id = run_b AND (environment_b IS NULL OR environment = environment_b)
        AND (variant_b IS NULL OR variant = variant_b)
),
named AS (
    SELECT environment_b IS NULL AND count(DISTINCT (side, environment)) > 2 AS by_name
    FROM results_of
),
graphs AS (
    SELECT
        r.side, r.match,
        CASE WHEN n.by_name THEN coalesce(r.environment, '') ELSE '' END AS environment_key,
        g.kind, g.fingerprint, g.ops, g.fusions, g.flops, g.bytes_accessed, g.op_histogram
    FROM results_of AS r
    CROSS JOIN named AS n
    JOIN record_graphs AS g ON g.record_id = r.detail_record_id
),
sides AS (
    SELECT
        side, match, environment_key, kind,
        count(*) AS graphs_n,
        sum(ops)::BIGINT AS ops_n,
        sum(fusions)::BIGINT AS fusions_n,
        sum(flops) AS flops,
        sum(bytes_accessed) AS bytes_accessed,
        list(fingerprint ORDER BY fingerprint) AS fingerprints
    FROM graphs
    GROUP BY ALL
),
known AS (
    SELECT match, environment_key
    FROM sides
    GROUP BY ALL
    HAVING count(DISTINCT side) = 2
),
a AS (SELECT s.* FROM sides AS s JOIN known USING (match, environment_key) WHERE side = 'a'),
b AS (SELECT s.* FROM sides AS s JOIN known USING (match, environment_key) WHERE side = 'b'),
operations AS (
    SELECT
        match, environment_key, kind, op,
        coalesce(sum(number) FILTER (side = 'a'), 0)::BIGINT AS ops_a,
        coalesce(sum(number) FILTER (side = 'b'), 0)::BIGINT AS ops_b
    FROM (
        SELECT g.side, g.match, g.environment_key, g.kind, e.key AS op, TRY_CAST(e.value ->> '$' AS BIGINT) AS number
        FROM graphs AS g, json_each(g.op_histogram) AS e
    )
    GROUP BY ALL
),
changes AS (
    SELECT
        match, environment_key, kind,
        list({'op': op, 'ops_a': ops_a, 'ops_b': ops_b} ORDER BY abs(ops_b - ops_a) DESC, op) AS op_changes
    FROM operations
    WHERE ops_a <> ops_b
    GROUP BY ALL
),
joined AS (
    SELECT
        coalesce(a.match, b.match) AS match,
        coalesce(a.environment_key, b.environment_key) AS environment_key,
        coalesce(a.kind, b.kind) AS kind,
        coalesce(a.graphs_n, 0) AS graphs_a,
        coalesce(b.graphs_n, 0) AS graphs_b,
        a.ops_n AS ops_a,
        b.ops_n AS ops_b,
        a.fusions_n AS fusions_a,
        b.fusions_n AS fusions_b,
        a.flops AS flops_a,
        b.flops AS flops_b,
        a.bytes_accessed AS bytes_accessed_a,
        b.bytes_accessed AS bytes_accessed_b,
        len(list_filter(
            coalesce(b.fingerprints, []), lambda f: NOT list_contains(coalesce(a.fingerprints, []), f)
        )) AS changed_n,
        a.fingerprints IS DISTINCT FROM b.fingerprints
            AND (variant_b IS NULL OR a.kind IS NOT NULL AND b.kind IS NOT NULL) AS differs
    FROM a
    FULL JOIN b
        ON b.match = a.match AND b.environment_key = a.environment_key AND b.kind = a.kind
)
SELECT
    r.suite, r.model, r.test, r.accelerator, r.backend, r.variant, r.environment, r.dtype, r.requested_batch_size,
    r.experiment_id,
    j.* EXCLUDE (match, environment_key, differs),
    coalesce(c.op_changes, []) AS op_changes
FROM joined AS j
CROSS JOIN named AS n
JOIN keyed AS k
    ON k.run_id = run_b AND k.match = j.match AND (variant_b IS NULL OR k.variant = variant_b)
    AND CASE WHEN n.by_name THEN coalesce(k.environment, '') = j.environment_key
        ELSE environment_b IS NULL OR k.environment = environment_b END
JOIN result_rows AS r ON r.run_id = run_b AND r.result_id = k.result_id
LEFT JOIN changes AS c ON c.match = j.match AND c.environment_key = j.environment_key AND c.kind = j.kind
WHERE j.differs;

-- name: what_differs
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
    UNION ALL
    -- A run.json is written before any process knows it.
    SELECT run_id, 'settings', '', json_object('thread_policy', string_agg(DISTINCT policy, ' / ' ORDER BY policy))
    FROM result_rows
    WHERE run_id IN (run_a, run_b)
    GROUP BY run_id
    HAVING count(policy) > 0
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
