-- Scalar macro, no grain: the key of a series. `experiment_id` stands for all that was requested (suite, model, test,
-- variant, dtype, batch size, …); what else must agree for two results to be of one series is part of the key.
CREATE OR REPLACE MACRO series_of(experiment_id, environment, accelerator_model, machine_id) AS
left(md5(to_json([experiment_id, environment, accelerator_model, machine_id])::VARCHAR), 16);
