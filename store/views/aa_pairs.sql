-- Grain: one row per pair of processes that measured the same experiment in one run on purpose: neighbours among the
-- replicas of a calibration (0 with 1, 2 with 3, …), or an A/A control with the record it is a twin of. `log_ratio` is
-- the median over their common rounds of ln(first / second): the difference that remains between equal experiments;
-- `round_variance` is the variance of that median, estimated from the rounds (NULL for one round). `measured` says how
-- both were measured (macro measured_as without the batch size). Made with the results of their run: store/refresh.
CREATE OR REPLACE VIEW aa_pairs AS
SELECT *
FROM aa_pair_rows;
