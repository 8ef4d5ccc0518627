-- Grain: one row per pair of processes that measured the same experiment in one run on purpose: neighbours among the
-- replicas of a calibration (0 with 1, 2 with 3, …), or an A/A control with the record it is a twin of. `log_ratio` is the
-- median over their common rounds of ln(first / second): what remains where nothing differs; `round_variance` is that
-- median's variance as the rounds tell it (NULL of one round). Made with the results of their run: store/refresh.
CREATE OR REPLACE VIEW aa_pairs AS
SELECT *
FROM aa_pair_rows;
