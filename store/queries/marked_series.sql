-- Grain: one row per mark and series that it names.
SELECT r.series_id, m.mark_id, m.marked_at
FROM (
    SELECT DISTINCT
        series_id, suite, model, test, backend, variant, environment, accelerator, accelerator_model, machine_id
    FROM result_rows
    WHERE EXISTS (SELECT 1 FROM marks)
) AS r
JOIN marks AS m
    ON (m.suite IS NULL OR m.suite = r.suite)
    AND (m.model IS NULL OR m.model = r.model)
    AND (m.test IS NULL OR m.test = r.test)
    AND (m.backend IS NULL OR m.backend = r.backend)
    AND (m.variant IS NULL OR m.variant = r.variant)
    AND (m.environment IS NULL OR m.environment = r.environment)
    AND (m.accelerator IS NULL OR m.accelerator = r.accelerator)
    AND (m.accelerator_model IS NULL OR m.accelerator_model = r.accelerator_model)
    AND (m.machine_id IS NULL OR m.machine_id = r.machine_id)
