-- What XLA reports of a block: seconds in its compiler, and seconds of execution. They overlap with each other and with
-- tracing, so they are no parts of `total_s`. NULL where XLA took no part.
ALTER TABLE samples ADD COLUMN compile_s DOUBLE;
ALTER TABLE samples ADD COLUMN execute_s DOUBLE;
