-- Grain: one row per record that a result of the runs is made of, with what the harness's files say beside its times.
SELECT r.record_id, r.batch_size, r.compiler_time_s, r.compiler_source, r.record
FROM processes() AS r
WHERE r.run_id IN (SELECT unnest($runs::VARCHAR[]))
