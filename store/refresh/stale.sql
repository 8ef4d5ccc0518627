-- What of stale runs is computed again, and what is done to results once they are stored.

-- name: stale_facts
-- Grain: one row: what the stale runs have, so that the steps of what they have not are left out. `whole`: all results of some
-- run are recomputed.
SELECT
    EXISTS (FROM stale_runs WHERE result_id IS NULL AND run_id IN (SELECT run_id FROM stale_now)) AS whole,
    EXISTS (FROM aa_pair_rows WHERE run_id IN (SELECT run_id FROM stale_now)) AS had_pairs,
    EXISTS (
        FROM records
        WHERE run_id IN (SELECT run_id FROM stale_now) AND (purpose = 'calibration' OR twin_of IS NOT NULL)
    ) AS has_pairs

-- name: stale_results
-- Grain: one row per result to be recomputed, of stale runs of which not all results are: results with a new record, and
-- all results of their groups, since which attempt is shown depends on the whole group.
CREATE OR REPLACE TEMP TABLE stale_results AS
WITH changed AS (
    SELECT DISTINCT result_id FROM stale_runs WHERE run_id IN (SELECT run_id FROM stale_now)
),
placed AS (
    -- The group of a result is the first of its groups, as in `planned`.
    SELECT p.run_id, result_of(p.run_id, p.experiment_id, p.environment) AS result_id, min(p.group_id) AS group_id
    FROM plan_entries AS p
    JOIN latest_run_files AS f ON f.path = p.path
    WHERE p.run_id IN (SELECT run_id FROM stale_now)
    GROUP BY ALL
)
SELECT result_id FROM changed
UNION
SELECT m.result_id
FROM placed AS c
JOIN placed AS m ON m.run_id = c.run_id AND m.group_id = c.group_id
WHERE c.result_id IN (SELECT result_id FROM changed);

CREATE OR REPLACE TEMP MACRO is_stale(of_result) AS of_result IN (SELECT result_id FROM stale_results);

-- name: checks
-- What a run that only verifies says of results that another run timed without verifying them, as a first look does: their
-- `verification_code` is what the newest later run of the same series and versions found that came to a verdict (or, where
-- none did, the newest), and `verification_run_id` names it. Where the verification of the measuring run itself hung or died,
-- only a wrong answer counts: what another process answers rightly says nothing of the one that did not answer. Once the later run
-- is no more, the code is again the one of the record. Few series have such a run.
UPDATE result_rows AS r
SET
    verification_code = CASE WHEN now.counts THEN now.code ELSE now.own_code END,
    verification_run_id = CASE WHEN now.counts THEN now.checking_run_id END
FROM (
    SELECT
        t.run_id, t.series_id,
        any_value(d.verification_code) AS own_code,
        arg_max(c.verification_code, (is_checked(c.verification_code), c.run_started)) AS code,
        arg_max(c.run_id, (is_checked(c.verification_code), c.run_started)) AS checking_run_id,
        code IS NOT NULL AND (own_code IS DISTINCT FROM 'VERIFIER_DIDNT_RUN' OR code = 'FAIL') AS counts
    FROM result_rows AS t
    JOIN records AS d ON d.record_id = coalesce(t.detail_record_id, t.record_id) AND d.run_id = t.run_id
    LEFT JOIN result_rows AS c
        ON c.series_id = t.series_id AND c.status = 'verify_only' AND c.run_started > t.run_started
        AND c.torch IS NOT DISTINCT FROM t.torch AND c.torch_xla IS NOT DISTINCT FROM t.torch_xla
    WHERE t.ran AND t.series_id IN (SELECT unnest($series::VARCHAR[]))
        AND coalesce(NOT is_checked(d.verification_code), true)
    GROUP BY t.run_id, t.series_id
) AS now
WHERE r.run_id = now.run_id AND r.series_id = now.series_id
    AND (r.verification_code, r.verification_run_id) IS DISTINCT FROM (
        CASE WHEN now.counts THEN now.code ELSE now.own_code END, CASE WHEN now.counts THEN now.checking_run_id END
    );
