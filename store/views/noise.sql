-- Views of A/A controls.

-- name: aa_pairs
-- Grain: one row per pair of processes that measured the same experiment in one run on purpose: neighbours among the
-- replicas of a calibration (0 with 1, 2 with 3, …), or an A/A control with the record it is a twin of. `log_ratio` is
-- the median over their common rounds of ln(first / second): the difference that remains between equal experiments;
-- `round_variance` is the variance of that median, estimated from the rounds (NULL for one round). `measured` says how
-- both were measured (macro measured_as without the batch size). Made with the results of their run: store/refresh.
CREATE OR REPLACE VIEW aa_pairs AS
SELECT *
FROM aa_pair_rows;

-- name: noise_floors
-- Grain: one row per machine_id × accelerator × `measured` × `policy` × experiment_id that was measured against itself;
-- experiment_id NULL: all experiments that the machine measured in this way together. With other threads or iterations per
-- block, pairs scatter otherwise. `floor` is the ratio minus one within which 95 % of identical pairs lie, `source` says
-- what it rests on. Its constants are those of store/stats/floors.py; a test compares the two. Lists count what is distinct:
-- while an index is made, DuckDB plans each DISTINCT of an aggregate as a join; readers' connections switch that off.
CREATE OR REPLACE VIEW noise_floors AS
WITH sums AS (
    SELECT
        machine_id, accelerator, measured, policy, experiment_id,
        any_value(threads) AS threads,
        any_value(suite) AS suite,
        any_value(model) AS model,
        any_value(test) AS test,
        any_value(variant) AS variant,
        count(*) AS pairs_n,
        len(list_distinct(list(run_id))) AS runs_n,
        sum(log_ratio * log_ratio) AS squares,
        array_to_string(list_sort(list_distinct(list(origin))), ' + ') AS origins,
        grouping(experiment_id) = 1 AS of_machine
    FROM (
        -- Pairs from before turns were judged may hold the work of other programs: they count only where there are no others.
        SELECT *
        FROM aa_pairs
        WHERE isfinite(log_ratio)
        QUALIFY quiet OR NOT bool_or(quiet) OVER (PARTITION BY machine_id, accelerator, measured)
    )
    GROUP BY GROUPING SETS (
        (machine_id, accelerator, measured, policy, experiment_id), (machine_id, accelerator, measured, policy)
    )
),
-- Under five pairs, or if all are equal, the default's variance is mixed in by its four degrees of freedom.
priors AS (
    SELECT *, CASE WHEN pairs_n < 5 OR squares = 0 THEN 4 ELSE 0 END AS prior, pow(ln(1.03) / t.t, 2) AS default_variance
    FROM sums
    CROSS JOIN (SELECT t FROM t_quantiles WHERE freedom = 4) AS t
),
variances AS (
    SELECT *, (prior * default_variance + squares) / (prior + pairs_n) AS variance, prior + pairs_n AS freedom
    FROM priors
)
SELECT
    v.machine_id, v.accelerator, v.threads, v.measured, v.policy, v.experiment_id,
    CASE WHEN NOT v.of_machine THEN v.suite END AS suite,
    CASE WHEN NOT v.of_machine THEN v.model END AS model,
    CASE WHEN NOT v.of_machine THEN v.test END AS test,
    CASE WHEN NOT v.of_machine THEN v.variant END AS variant,
    v.pairs_n, v.runs_n,
    exp(q.t * sqrt(v.variance)) - 1 AS floor,
    v.variance, v.freedom,
    v.origins || CASE WHEN v.prior > 0 THEN ' + default' ELSE '' END AS source
FROM variances AS v
JOIN t_quantiles AS q ON q.freedom = least(v.freedom, 400);
