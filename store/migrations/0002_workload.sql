-- What is timed beside dtype, batch size, loss and optimizer; NULL is the default (or, of foreign records, unknown).
ALTER TABLE records ADD COLUMN workload VARCHAR;
ALTER TABLE plan_entries ADD COLUMN workload VARCHAR;
