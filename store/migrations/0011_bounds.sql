-- What is known of the latency of a result that other programs disturbed too much for a number; NULL: nothing.
ALTER TABLE records ADD COLUMN at_least_s DOUBLE;         -- seconds that one iteration takes at least on a quiet machine
ALTER TABLE records ADD COLUMN at_most_s DOUBLE;          -- the same, at most
