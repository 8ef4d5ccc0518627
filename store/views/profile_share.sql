-- Scalar macro, no grain: the share of an iteration that an op took in the profile pass. Older records do not say how
-- long an iteration of that pass was: theirs is a share of the latency, which a profile does not slow.
CREATE OR REPLACE MACRO profile_share(time_s, profiled_iteration_s, latency_s) AS
    time_s / nullif(coalesce(profiled_iteration_s, latency_s), 0);
