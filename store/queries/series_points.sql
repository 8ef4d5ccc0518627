-- Grain: one row per valid result of a stale series, of each of its epochs the newest $last_n, oldest first; epochs of fewer
-- than $min_n results are left out.
SELECT series_id, epoch, run_id, run_started, latency_s
FROM history
WHERE series_id IN (SELECT series_id FROM stale_series)
    AND is_valid(ran, verification_code) AND latency_s > 0
QUALIFY row_number() OVER (PARTITION BY series_id, epoch ORDER BY run_started DESC, run_id DESC) <= $last_n
    AND count(*) OVER (PARTITION BY series_id, epoch) >= $min_n
ORDER BY series_id, epoch, run_started, run_id
