-- Statements that load the records of `made`, and what belongs to each.

-- name: known
-- Grain: one row per record of `made` that the index has.
-- Ids are compared with those that share their number alone: to read all of them costs a tenth of a second at 3,000,000.
CREATE OR REPLACE TEMP TABLE known AS
SELECT record_id
FROM records
WHERE id_number IN (SELECT id_number FROM made) AND record_id IN (SELECT record_id FROM made);

-- name: claims
-- Grain: one row per line of `made` whose record_id belongs to a record with another text: one that is known, else the
-- first in this batch. A text is compared with one whose samples were pruned without its own.
WITH whole AS (
    SELECT line_id, record_id, path, line_number, byte_offset, whole_text(made) AS record
    FROM made
)
SELECT
    p.line_id, p.path, p.line_number, p.byte_offset, p.record,
    CASE WHEN r.pruned_at IS NULL THEN p.record ELSE without_samples(p.record, r.pruned_at) END AS claim,
    coalesce(whole_text(r), f.record) AS holder
FROM whole AS p
LEFT JOIN known AS k ON k.record_id = p.record_id
LEFT JOIN records AS r ON r.record_id = k.record_id
LEFT JOIN (
    SELECT record_id, arg_min(record, line_id) AS record
    FROM whole
    GROUP BY record_id
) AS f ON k.record_id IS NULL AND f.record_id = p.record_id
WHERE holder <> claim
ORDER BY p.line_id;

-- name: dropped
-- Grain: one row per line of `made` whose record the index has, or an earlier line of the batch.
SELECT line_id FROM made WHERE record_id IN (SELECT record_id FROM known)
UNION
SELECT line_id FROM made QUALIFY row_number() OVER (PARTITION BY record_id ORDER BY line_id) > 1;

-- name: forgotten
-- Grain: one row per record that only the files of parameter `paths` hold.
CREATE OR REPLACE TEMP TABLE forgotten AS
SELECT record_id
FROM record_sources
GROUP BY record_id
HAVING bool_and(list_contains($paths::VARCHAR[], path));

-- name: records
-- Grain: one row per record of `made`.
INSERT INTO records BY NAME
SELECT
    * EXCLUDE (line_id, id_hash, path, line_number, byte_offset),
    result_of(run_id, experiment_id, environment) AS result_id
FROM made;

-- name: record_sources
-- Grain: one row per line of `made`, and one per run and file that hold records.
INSERT INTO record_sources BY NAME
SELECT record_id, path, byte_offset FROM made;

INSERT INTO run_sources BY NAME
SELECT m.run_id, m.path, any_value(m.command) AS command
FROM made AS m
WHERE NOT EXISTS (FROM run_sources AS s WHERE s.run_id = m.run_id AND s.path = m.path)
GROUP BY m.run_id, m.path;

-- name: record_metrics
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

-- name: record_artifacts
-- Grain: one row per artifact of a record of `made`.
SELECT line_id, record_id, unnest(record_artifacts, max_depth := 2)
FROM made
WHERE len(record_artifacts) > 0;

-- name: record_graphs
-- Grain: one row per compiled program of a record of `made`, in the order of the record.
SELECT line_id, record_id, (position - 1)::INTEGER AS position, unnest(graph)
FROM (
    SELECT line_id, record_id, unnest(record_graphs) AS graph, generate_subscripts(record_graphs, 1) AS position
    FROM made
    WHERE len(record_graphs) > 0
);

-- name: record_graph_breaks
-- Grain: one row per graph break reason of a record of `made`.
SELECT line_id, record_id, unnest(record_graph_breaks, max_depth := 2)
FROM made
WHERE len(record_graph_breaks) > 0;

-- name: record_fallback_ops
-- Grain: one row per op that XLA did not lower of a record of `made`.
SELECT line_id, record_id, unnest(record_fallback_ops, max_depth := 2)
FROM made
WHERE len(record_fallback_ops) > 0;

-- name: record_findings
-- Grain: one row per finding of a record of `made`.
SELECT line_id, record_id, finding.code AS code, coalesce(finding.text, '') AS text, finding.next_step AS next_step
FROM (SELECT line_id, record_id, unnest(record_findings) AS finding FROM made WHERE len(record_findings) > 0);
