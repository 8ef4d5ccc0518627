-- Seconds of an iteration of the profile pass that `time_s` of the op is from; NULL of records from before it was recorded.
ALTER TABLE record_fallback_ops ADD COLUMN profiled_iteration_s DOUBLE;
