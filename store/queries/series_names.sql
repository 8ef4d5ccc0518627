-- Grain: one row per combination of the names by which a mark restricts itself to some series.
SELECT DISTINCT suite, model, test, backend, variant, environment, accelerator, accelerator_model, machine_id
FROM result_rows
