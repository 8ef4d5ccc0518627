-- Scalar macro, no grain: the key of a result, and of every record that it pools: one experiment of one run in one
-- environment. An unknown environment is one environment. Joins also name the run, so that a scan reads only that run.
CREATE OR REPLACE MACRO result_of(run_id, experiment_id, environment) AS
left(md5(to_json([run_id, experiment_id, environment])::VARCHAR), 16);
