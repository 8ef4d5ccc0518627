-- The results of the run $run with their fallback ops, what lowering them was measured to pay, and their graph breaks, for
-- the queries of page Fallback ops.
CREATE TEMP TABLE run_rows AS
SELECT run_id, record_id, suite, model, test, backend, accelerator, dtype, ran, steady_n, fallback_ops_n, graph_breaks_n
FROM result_rows
WHERE run_id = $run;

CREATE TEMP TABLE call_rows AS
SELECT * FROM fallback_calls WHERE run_id = $run;

CREATE TEMP TABLE payoff_rows AS
SELECT * FROM fallback_payoffs WHERE run_id = $run;

CREATE TEMP TABLE break_rows AS
SELECT * FROM graph_breaks WHERE run_id = $run;

CREATE TEMP VIEW result_rows AS
SELECT * FROM run_rows;

CREATE TEMP VIEW fallback_calls AS
SELECT * FROM call_rows;

CREATE TEMP VIEW fallback_payoffs AS
SELECT * FROM payoff_rows;

CREATE TEMP VIEW graph_breaks AS
SELECT * FROM break_rows;
