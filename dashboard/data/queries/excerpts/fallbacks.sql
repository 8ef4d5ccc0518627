-- The fallback ops of the run $run, what lowering them was measured to pay, and its graph breaks, for queries that rank and
-- count them over some of its models.
CREATE TEMP TABLE call_rows AS
SELECT * FROM fallback_calls WHERE run_id = $run;

CREATE TEMP TABLE payoff_rows AS
SELECT * FROM fallback_payoffs WHERE run_id = $run;

CREATE TEMP TABLE break_rows AS
SELECT * FROM graph_breaks WHERE run_id = $run;

CREATE TEMP VIEW fallback_calls AS
SELECT * FROM call_rows;

CREATE TEMP VIEW fallback_payoffs AS
SELECT * FROM payoff_rows;

CREATE TEMP VIEW graph_breaks AS
SELECT * FROM break_rows;
