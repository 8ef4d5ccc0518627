-- Grain: one row per pair of processes that measured the same experiment in one run on purpose: neighbours among the
-- replicas of a calibration (0 with 1, 2 with 3, …), or a hidden twin with the record it is a twin of. `log_ratio` is the
-- median over their common rounds of ln(first / second): what remains where nothing differs; `round_variance` is that
-- median's variance as the rounds tell it (NULL of one round).
CREATE OR REPLACE VIEW aa_pairs AS
WITH pairs AS (
    SELECT a.record_id AS first_id, b.record_id AS second_id, 'calibration' AS origin
    FROM records AS a
    JOIN records AS b
        ON b.run_id = a.run_id AND b.experiment_id = a.experiment_id
        AND b.environment IS NOT DISTINCT FROM a.environment AND b.attempt = a.attempt AND b.replica = a.replica + 1
    WHERE a.purpose = 'calibration' AND b.purpose = 'calibration' AND a.twin_of IS NULL AND b.twin_of IS NULL
        AND a.replica % 2 = 0
    UNION ALL
    SELECT a.record_id, b.record_id, 'twin'
    FROM records AS b
    JOIN records AS a ON a.record_id = b.twin_of
),
-- Few records are measured against themselves: only their samples are read.
rounds AS (
    SELECT record_id, round, median(per_iter_s) AS round_s
    FROM samples
    WHERE kind = 'steady' AND per_iter_s > 0
        AND record_id IN (SELECT first_id FROM pairs UNION ALL SELECT second_id FROM pairs)
    GROUP BY record_id, round
)
SELECT
    r.run_id, r.machine_id, r.experiment_id, r.environment, r.suite, r.model, r.test, r.variant, r.attempt, p.origin,
    p.first_id, p.second_id,
    count(*) AS rounds_n,
    median(ln(x.round_s / y.round_s)) AS log_ratio,
    pi() / 2 * var_samp(ln(x.round_s / y.round_s)) / count(*) AS round_variance
FROM pairs AS p
JOIN records AS r ON r.record_id = p.first_id AND r.ran
JOIN records AS s ON s.record_id = p.second_id AND s.ran
JOIN rounds AS x ON x.record_id = p.first_id
JOIN rounds AS y ON y.record_id = p.second_id AND y.round = x.round
GROUP BY ALL;
