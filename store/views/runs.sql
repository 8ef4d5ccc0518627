-- Views of runs, and of what failed in them.

-- name: runs
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

-- name: run_status
-- Grain: one row per run_id × suite × test × accelerator × backend × variant × environment.
-- Where the plan is not known, the rows of the file are the denominator.
CREATE OR REPLACE VIEW run_status AS
SELECT
    run_id,
    any_value(run_label) AS run_label,
    any_value(run_started) AS run_started,
    any_value(plan_known) AS plan_known,
    suite, test, accelerator, backend, variant, environment,
    any_value(accelerator_model) AS accelerator_model,
    count(*) AS planned_n,
    count(*) FILTER (status = 'skipped') AS skipped_n,
    count(*) FILTER (status <> 'skipped') AS runnable_n,
    count(*) FILTER (ran) AS ran_n,
    count(*) FILTER (status = 'verify_only') AS verify_only_n,
    count(*) FILTER (status = 'never_steady') AS never_steady_n,
    count(*) FILTER (status = 'disturbed') AS disturbed_n,
    count(*) FILTER (status = 'invalid') AS invalid_n,
    count(*) FILTER (is_failed(ran, status)) AS failed_n,
    count(*) FILTER (status = 'load_error') AS load_error_n,
    count(*) FILTER (status = 'compile_error') AS compile_error_n,
    count(*) FILTER (status = 'run_error') AS run_error_n,
    count(*) FILTER (ran AND verification_code = 'FAIL') AS wrong_n,
    count(*) FILTER (status = 'timeout') AS timeout_n,
    count(*) FILTER (status = 'oom') AS oom_n,
    count(*) FILTER (status = 'crashed') AS crashed_n,
    count(*) FILTER (status = 'not_run') AS not_run_n,
    count(*) FILTER (ran OR status = 'verify_only') AS answered_n,
    count(*) FILTER ((ran OR status = 'verify_only') AND verification_code = 'PASS') AS verified_n,
    coalesce(bool_or(is_checked(verification_code)), false) AS verify_asked
FROM result_rows
GROUP BY run_id, suite, test, accelerator, backend, variant, environment;

-- name: rates
-- Grain: as run_status: one row per run_id × suite × test × accelerator × backend × variant × environment. How much of
-- the plan ran, and how much of what answered was verified; every other entry of the plan is in one class: planned =
-- ran + verify_only + never_steady + disturbed + skipped + not_run + the seven failures. `verified_rate` is NULL, not 0
-- %, if no verification was requested.
CREATE OR REPLACE VIEW rates AS
SELECT
    *,
    ran_n / planned_n AS ran_rate,
    CASE WHEN verify_asked AND answered_n > 0 THEN verified_n / answered_n END AS verified_rate
FROM run_status;

-- name: failure_states
-- Grain of failure_states(last_n, until, series): one row per series with at least one answer, of those in the list `series`
-- (NULL: of all): what its newest `last_n` answers say, of runs that started no later than `until` (NULL: all). An answer is
-- a result that passed or failed (macro outcome); `pattern` has them from the newest on: P passed, F failed, R passed on a
-- retry within its run; `pattern_started` says when their runs started.
-- new: the newest failed, all before passed (or there was none); persistent: the newest two or more failed, all before
-- passed; fixed: the newest passed, all before failed; flaky: anything that changed more than once, or needed a retry.
-- `streak_n` answers in a row are as the newest, since `since_run_id`. `failure_…` is the newest failure among them.
CREATE OR REPLACE MACRO failure_states(last_n, until := NULL, series := NULL) AS TABLE
WITH answers AS (
    SELECT
        series_id, run_id, run_started, result_id,
        outcome(status, ran, verification_code) AS outcome
    FROM result_rows
    WHERE outcome(status, ran, verification_code) IS NOT NULL
        AND (until IS NULL OR run_started <= until::TIMESTAMP)
        AND (series IS NULL OR series_id IN (SELECT unnest(series::VARCHAR[])))
),
-- Of a long series only its newest runs are ordered.
reach AS (
    SELECT series_id, list_min(max(run_started, last_n)) AS since
    FROM answers
    GROUP BY series_id
),
newest AS (
    SELECT a.*, row_number() OVER (PARTITION BY a.series_id ORDER BY a.run_started DESC, a.run_id DESC) AS age
    FROM answers AS a
    JOIN reach AS n ON n.series_id = a.series_id AND a.run_started >= n.since
    QUALIFY age <= last_n
),
attempts AS (
    SELECT
        run_id, result_id, attempt,
        bool_or(outcome(status, ran, verification_code) = 'P') AS passed,
        bool_or(outcome(status, ran, verification_code) = 'F') AS failed
    FROM processes()
    WHERE run_id IN (SELECT run_id FROM records WHERE attempt > 1)
    GROUP BY run_id, result_id, attempt
),
retried AS (
    SELECT f.run_id, f.result_id
    FROM attempts AS f
    JOIN attempts AS p ON p.run_id = f.run_id AND p.result_id = f.result_id AND p.attempt > f.attempt
    WHERE f.failed AND NOT coalesce(f.passed, false) AND p.passed
    GROUP BY f.run_id, f.result_id
),
answered AS (
    SELECT
        n.series_id, n.age, n.run_id, n.run_started,
        CASE WHEN t.run_id IS NOT NULL THEN 'R' ELSE n.outcome END AS letter
    FROM newest AS n
    LEFT JOIN retried AS t ON t.run_id = n.run_id AND t.result_id = n.result_id
),
patterns AS (
    SELECT
        series_id,
        string_agg(letter, '' ORDER BY age) AS pattern,
        list(run_id ORDER BY age) AS run_ids,
        list(run_started ORDER BY age) AS starts,
        count(*) AS answered_n,
        count(*) FILTER (letter <> 'P') AS failed_n,
        min(age) FILTER (letter = 'F') AS failure_age
    FROM answered
    GROUP BY series_id
),
judged AS (
    SELECT
        *,
        length(regexp_extract(pattern, '^(F+|P+|R+)')) AS streak_n,
        CASE
            WHEN pattern ~ '^FP*$' THEN 'new'
            WHEN pattern ~ '^F+P*$' THEN 'persistent'
            WHEN pattern ~ '^P+$' THEN 'passing'
            WHEN pattern ~ '^P+F+$' THEN 'fixed'
            ELSE 'flaky'
        END AS state
    FROM patterns
)
SELECT
    j.series_id, r.suite, r.model, r.test, r.accelerator, r.accelerator_model, r.backend, r.variant, r.environment,
    r.machine_id, r.dtype, r.requested_batch_size, r.optimizer, r.loss, r.matmul_precision, r.workload,
    j.state, j.failed_n, j.answered_n, j.streak_n, j.pattern, j.starts AS pattern_started,
    j.run_ids[j.streak_n] AS since_run_id,
    j.starts[j.streak_n] AS since_started,
    j.run_ids[j.streak_n + 1] AS before_run_id,
    r.run_id, r.run_label, r.run_started, r.experiment_id, r.status, r.attempt,
    f.run_id AS failure_run_id,
    f.status AS failure_status,
    f.failure_phase,
    coalesce(f.reason, CASE WHEN f.verification_code = 'FAIL' THEN 'wrong answer: verification FAIL' END)
        AS failure_reason,
    f.error_signature
FROM judged AS j
JOIN result_rows AS r ON r.series_id = j.series_id AND r.run_id = j.run_ids[1]
LEFT JOIN result_rows AS f ON f.series_id = j.series_id AND f.run_id = j.run_ids[j.failure_age];

-- name: error_signatures
-- Grain: one row per normalised message of failed results, over all runs: how often, where, and since when it occurs.
-- `example` is a message as it was, of the newest run that has it; of several in that run the last one by the alphabet.
CREATE OR REPLACE VIEW error_signatures AS
SELECT
    error_signature,
    list(DISTINCT status ORDER BY status) AS statuses,
    list(DISTINCT failure_phase ORDER BY failure_phase) FILTER (failure_phase IS NOT NULL) AS phases,
    list(DISTINCT backend ORDER BY backend) AS backends,
    count(*) AS results_n,
    count(DISTINCT run_id) AS runs_n,
    count(DISTINCT (suite, model)) AS models_n,
    list(DISTINCT model ORDER BY model) AS models,
    arg_min(run_id, (run_started, run_id)) AS first_run_id,
    arg_min(run_label, (run_started, run_id)) AS first_run_label,
    min(run_started) AS first_started,
    arg_max(run_id, (run_started, run_id)) AS last_run_id,
    arg_max(run_label, (run_started, run_id)) AS last_run_label,
    max(run_started) AS last_started,
    arg_max(reason, (run_started, run_id, reason)) AS example
FROM result_rows
WHERE error_signature IS NOT NULL
GROUP BY error_signature;

-- name: unclean
-- Grain of unclean(clean_of, runs): one row per run × suite × model × test that is not known to have none of what `clean_of`
-- excludes ('no fallback ops', 'no graph breaks'), of `runs` (NULL: all); none where `clean_of` is empty. `unknown`: no result has
-- any, but one that ran did not count them (those of other tools), or none of the backends that can have them gave a result.
-- Only those of XLA have fallback ops, and only dynamo breaks graphs.
CREATE OR REPLACE MACRO unclean(clean_of, runs) AS TABLE
WITH counts AS (
    SELECT
        run_id, suite, model, test, ran,
        unnest(['no fallback ops', 'no graph breaks']) AS clean,
        unnest([fallback_ops_n, graph_breaks_n]) AS number,
        unnest([
            starts_with(backend, 'openxla') OR starts_with(backend, 'torchxla'),
            backend NOT IN ('eager', 'openxla+lazytensor') AND NOT starts_with(backend, 'torch_xla2')
        ]) AS can_have
    FROM result_rows
    WHERE len(clean_of::VARCHAR[]) > 0 AND (runs IS NULL OR run_id IN (SELECT unnest(runs::VARCHAR[])))
),
models AS (
    SELECT
        run_id, suite, model, test, clean,
        coalesce(bool_or(number > 0), false) AS has_any,
        bool_or(can_have)
            AND count(*) FILTER (can_have AND number IS NOT NULL) < greatest(count(*) FILTER (can_have AND ran), 1)
            AS unknown
    FROM counts
    WHERE list_contains(clean_of::VARCHAR[], clean)
    GROUP BY ALL
)
SELECT run_id, suite, model, test, NOT bool_or(has_any) AS unknown
FROM models
WHERE has_any OR unknown
GROUP BY run_id, suite, model, test;
