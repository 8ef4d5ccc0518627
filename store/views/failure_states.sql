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
