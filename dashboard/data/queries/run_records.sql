-- Grain: one row per record of the shown run: every process, attempt, twin and purpose, as its line was read.
SELECT
    suite, model, test, accelerator, variant, environment, purpose, replica, attempt, twin_of, status, reason,
    latency_s, steady_n, verification_code, finished_at, record_id
FROM records
WHERE /*filters*/
ORDER BY suite, model, test, variant, environment, attempt, purpose, replica
