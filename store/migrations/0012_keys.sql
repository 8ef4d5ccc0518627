-- The run, experiment and environment of a record as one key, as macro result_of makes it.
ALTER TABLE records ADD COLUMN result_id VARCHAR;         -- the result that it is of: its run, experiment and environment
ALTER TABLE pruned_pools ADD COLUMN result_id VARCHAR;    -- the result: its run, experiment and environment

UPDATE records SET result_id = left(md5(to_json([run_id, experiment_id, environment])::VARCHAR), 16);

UPDATE pruned_pools SET result_id = left(md5(to_json([run_id, experiment_id, environment])::VARCHAR), 16);
