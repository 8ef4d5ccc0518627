-- What is known about disturbance by other programs. Records from before the rule, and foreign ones, have none: unknown.
ALTER TABLE records ADD COLUMN quiet_rule INTEGER;         -- version of the rule that judged its turns; NULL: unknown
ALTER TABLE records ADD COLUMN policy VARCHAR;             -- how threads waited, at which priority; NULL: unknown
ALTER TABLE records ADD COLUMN turns_n INTEGER;            -- turns that were taken
ALTER TABLE records ADD COLUMN disturbed_turns_n INTEGER;  -- of these, disturbed ones, which are in no statistic
