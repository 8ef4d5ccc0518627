-- Queries that every page may ask.

-- name: devices
-- Grain: one row per kind of accelerator and per model of one: what a baseline may be measured on.
SELECT device
FROM (
    SELECT accelerator AS device, 0 AS place FROM result_rows WHERE accelerator IS NOT NULL
    UNION
    SELECT accelerator_model, 1 FROM result_rows WHERE accelerator_model IS NOT NULL
)
GROUP BY device
ORDER BY min(place), device

-- name: doubts
-- Grain: one row per result of the shown run that was planned to be measured, with what tells how far it can be believed.
SELECT
    suite, model, test, accelerator, dtype, backend, variant, environment, source, status, ran, verification_code,
    verification_run_id
FROM result_rows
WHERE status <> 'skipped' AND /*filters*/

-- name: earlier_runs
-- Grain: one row per earlier run that measured at least half of the series that the shown run planned:
-- the newest twelve, from the newest on. The first is what the shown run is compared with.
WITH shown AS (
    SELECT DISTINCT series_id
    FROM result_rows
    WHERE run_id = $run AND status <> 'skipped'
)
SELECT r.run_id, any_value(r.run_label) AS run_label, any_value(r.run_started) AS run_started, count(*) AS shared_n
FROM result_rows AS r
SEMI JOIN shown ON shown.series_id = r.series_id
WHERE r.status NOT IN ('skipped', 'not_run')
    AND r.run_started < (SELECT max(run_started) FROM result_rows WHERE run_id = $run)
GROUP BY r.run_id
HAVING 2 * count(*) >= (SELECT count(*) FROM shown)
ORDER BY run_started DESC, run_id DESC
LIMIT 12

-- name: filters_only
    AND (suite, model, test) NOT IN (
        SELECT (suite, model, test) FROM unclean($only::VARCHAR[], [$run])
    )

-- name: of_unknown
-- Grain: as macro unclean, for the shown run: models that the filter $only leaves out as nobody counted what it excludes.
SELECT suite, model, test
FROM unclean($only::VARCHAR[], [$run])
WHERE unknown

-- name: warnings
-- Grain: as view findings, for a run, with the record of each result: its measurement warnings.
WITH processes AS MATERIALIZED (
    SELECT record_id, result_id, attempt
    FROM processes()
    WHERE run_id = $run
),
-- One pass over the findings of all runs; the view's joins take three times as long over three years of runs.
found AS MATERIALIZED (
    SELECT record_id, code FROM record_findings WHERE record_id IN (SELECT record_id FROM processes)
)
SELECT DISTINCT r.record_id, f.code
FROM found AS f
JOIN processes AS p USING (record_id)
JOIN result_rows AS r ON r.run_id = $run AND r.result_id = p.result_id AND r.attempt = p.attempt
ORDER BY r.record_id, f.code

-- name: pruned_samples
-- Grain: one row: when samples of the shown run left the index (`xlabench prune`); NULL where all are there.
SELECT max(pruned_at) AS pruned_at
FROM records
WHERE run_id = $run AND pruned_at IS NOT NULL

-- name: reruns_of_few
-- Grain: one row per run of $runs that measures a few results again and nothing else: each of its series, which names the
-- machine, too, is also in a run of $runs that plans more than twice as much.
WITH planned AS (
    SELECT run_id, series_id FROM result_rows WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
),
sizes AS (
    SELECT run_id, count(*) AS planned_n FROM planned GROUP BY run_id
),
largest AS (
    SELECT series_id, max(planned_n) AS planned_n FROM planned JOIN sizes USING (run_id) GROUP BY series_id
)
SELECT run_id
FROM planned
JOIN sizes AS s USING (run_id)
JOIN largest AS l USING (series_id)
GROUP BY run_id
HAVING min(l.planned_n) > 2 * any_value(s.planned_n)

-- name: reruns
-- Grain: one row per result of a newer run in $runs that measured a series of the shown run again, the newest first. A
-- speedup is over the baseline of its own run.
SELECT
    series_id, suite, model, test, accelerator, backend, variant, environment, run_id, run_label, run_started, status, ran,
    verification_code, latency_s, steady_n, speedup
FROM speedups(
    $baseline_backend::VARCHAR, NULL, baseline_accelerator := $baseline_accelerator::VARCHAR, runs := $runs::VARCHAR[]
)
WHERE series_id IN (SELECT series_id FROM result_rows WHERE run_id = $run) AND status <> 'verify_only'
ORDER BY run_started DESC, run_id, variant

-- name: reported_runs
-- Grain: one row per import of numbers that others published: what it holds, and where it was read.
SELECT
    r.run_id, any_value(r.run_label) AS run_label, r.source, min(r.run_started) AS run_started,
    count(*) AS records_n,
    count(DISTINCT (r.suite, r.model)) AS models_n,
    string_agg(DISTINCT r.backend, ', ' ORDER BY r.backend) AS backends,
    string_agg(DISTINCT r.test, ', ' ORDER BY r.test) AS tests,
    string_agg(DISTINCT json_extract_string(r.record, '$.reported.origin'), ', ') AS origin,
    min(s.path) AS path
FROM records AS r
LEFT JOIN record_sources AS s USING (record_id)
WHERE r.purpose = 'reported'
GROUP BY r.run_id, r.source
ORDER BY run_started DESC, run_label

-- name: reported_geomeans
-- Grain: as view reported_geomeans: one row per published table × column of speedups.
SELECT * FROM reported_geomeans ORDER BY run_id, suite, test, backend, column_name

-- name: models_of_other_runs
-- Grain: one row per suite × model × test that runs measured and the shown run did not plan, with the newest of these runs.
SELECT suite, model, test, arg_max(run_id, run_started) AS run_id
FROM result_rows
WHERE status NOT IN ('skipped', 'not_run') OR run_id = $run
GROUP BY suite, model, test
HAVING NOT bool_or(run_id = $run)
ORDER BY suite, model, test
