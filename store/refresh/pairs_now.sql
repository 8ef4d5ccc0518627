-- Grain: as view aa_pairs, of stale runs. `log_ratio` is the median over common rounds of ln(first / second);
-- `quiet`: the turns of both were judged, and disturbed ones left out. `measured` is that of macro measured_as without the
-- batch size, which is that of the experiment.
WITH own AS (
    SELECT *
    FROM records
    WHERE run_id IN (SELECT run_id FROM stale_now) AND (purpose = 'calibration' OR twin_of IS NOT NULL)
),
pairs AS (
    SELECT a.record_id AS first_id, b.record_id AS second_id, 'calibration' AS origin
    FROM own AS a
    JOIN own AS b
        ON b.run_id = a.run_id AND b.result_id = a.result_id AND b.attempt = a.attempt AND b.replica = a.replica + 1
    WHERE a.purpose = 'calibration' AND b.purpose = 'calibration' AND a.twin_of IS NULL AND b.twin_of IS NULL
        AND a.replica % 2 = 0
    UNION ALL
    SELECT a.record_id, b.record_id, 'twin'
    FROM own AS b
    JOIN records AS a ON a.record_id = b.twin_of
),
-- Named by their purpose: of the pairs DuckDB cannot tell that they are few, and would hash all samples instead.
rounds AS (
    SELECT record_id, round, median(per_iter_s) AS round_s
    FROM samples
    WHERE kind = 'steady' AND per_iter_s > 0
        AND record_id IN (
            SELECT record_id FROM own
            UNION ALL
            SELECT twin_of FROM own WHERE twin_of IS NOT NULL
        )
    GROUP BY record_id, round
    UNION ALL
    SELECT record_id, unnest(kept_rounds), unnest(kept_rounds_s)
    FROM records
    WHERE pruned_at IS NOT NULL AND run_id IN (SELECT run_id FROM own)
),
-- Made before the other side is joined: joined by the round alone, the rounds of all records would pair with each other.
firsts AS MATERIALIZED (
    SELECT p.first_id, p.second_id, p.origin, x.round, x.round_s
    FROM pairs AS p
    JOIN rounds AS x ON x.record_id = p.first_id
)
SELECT
    r.run_id, r.machine_id, r.experiment_id, r.environment, r.suite, r.model, r.test, r.variant, r.attempt, p.origin,
    p.first_id, p.second_id, r.accelerator, r.threads, r.policy,
    measured_as(NULL, r.threads, r.iterations_per_run, r.start, r.instrumented) AS measured,
    r.quiet_rule IS NOT NULL AND s.quiet_rule IS NOT NULL AS quiet,
    count(*) AS rounds_n,
    median(ln(p.round_s / y.round_s)) AS log_ratio,
    CASE WHEN count(*) > 1
        THEN pi() / 2 * pow(1.4826 * mad_factor(count(*)) * mad(ln(p.round_s / y.round_s)), 2) / count(*)
    END AS round_variance
FROM firsts AS p
JOIN records AS r ON r.record_id = p.first_id AND r.ran
JOIN records AS s ON s.record_id = p.second_id AND s.ran
JOIN rounds AS y ON y.record_id = p.second_id AND y.round = p.round
GROUP BY ALL
