-- Grain of baselines(backend, point, device, runs, models): one row per result that may be the baseline of others, as
-- comparable. `models`: the requested ones (NULL: all). `point`: NULL or 'same' the own run (then `runs` narrows),
-- 'latest' or 'oldest' the newest or oldest valid result of each series, one for each way in which it was measured, so that
-- a result finds one that was measured alike; else a run_id. `device`: NULL, or the
-- accelerator or accelerator model that it has to be of. `run_key` is what a result joins it by: the run_id where that
-- is the point, else the word.
CREATE OR REPLACE MACRO baselines(backend_name, point, device, runs, models := NULL) AS TABLE
SELECT *, run_id AS run_key
FROM comparable
WHERE variant IN (backend_name, backend_name || ' cudagraphs')
    AND (device IS NULL OR device IN (accelerator, accelerator_model_key))
    AND CASE WHEN coalesce(point, 'same') = 'same' THEN runs IS NULL OR run_id IN (SELECT unnest(runs::VARCHAR[]))
        ELSE run_id = point END
    AND (models IS NULL OR list_contains(models::VARCHAR[], model))
UNION ALL
SELECT c.*, point
FROM comparable AS c
-- By place, not by series and run: a scan reads the row groups that hold one, not every result that there is.
JOIN (
    SELECT
        CASE point WHEN 'latest' THEN arg_max(place, (valid, run_started, run_id, place))
            ELSE arg_min(place, (NOT valid, run_started, run_id, place)) END AS place,
        bool_or(valid) AS is_valid
    FROM comparable
    WHERE point IN ('latest', 'oldest')
        AND variant IN (backend_name, backend_name || ' cudagraphs')
        AND (device IS NULL OR device IN (accelerator, accelerator_model_key))
        AND (models IS NULL OR list_contains(models::VARCHAR[], model))
    GROUP BY series_id, batch_key, threads_key, iterations_key, start_key, instrumented_key, policy_key
    QUALIFY is_valid OR NOT bool_or(is_valid) OVER (PARTITION BY series_id)
) AS chosen USING (place);
