-- Scalar macro, no grain: the factor that makes the median absolute deviation of `n` values unbiased (Croux and
-- Rousseeuw, 1992). Its constants are those of store/stats/effects.py; a test compares the two.
CREATE OR REPLACE MACRO mad_factor(n) AS
CASE WHEN n < 10 THEN [1.0, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107][n] ELSE n / (n - 0.8) END;
