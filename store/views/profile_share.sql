-- Scalar macro, no grain: the share of an iteration that an op took in the profile pass. Older records lack the time of
-- that iteration: their share is one of the latency, which a profile does not slow.
CREATE OR REPLACE MACRO profile_share(time_s, profiled_iteration_s, latency_s) AS
    time_s / nullif(coalesce(profiled_iteration_s, latency_s), 0);
