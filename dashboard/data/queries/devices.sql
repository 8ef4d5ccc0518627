-- Grain: one row per kind of accelerator and per model of one: what a baseline may be measured on.
SELECT device
FROM (
    SELECT accelerator AS device, 0 AS place FROM result_rows WHERE accelerator IS NOT NULL
    UNION
    SELECT accelerator_model, 1 FROM result_rows WHERE accelerator_model IS NOT NULL
)
GROUP BY device
ORDER BY min(place), device
