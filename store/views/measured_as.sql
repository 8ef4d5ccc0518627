-- Scalar macro, no grain: the key of how a result was measured. It is no part of a series' key, as a run decides it anew;
-- latencies of one series are compared from run to run only where it is equal. How threads waited (`policy`) is unknown
-- of older records and stands apart.
CREATE OR REPLACE MACRO measured_as(batch_size, threads, iterations_per_run, start, instrumented) AS
to_json([batch_size::VARCHAR, threads::VARCHAR, iterations_per_run::VARCHAR, start, instrumented::VARCHAR])::VARCHAR;
