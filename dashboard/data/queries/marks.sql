-- Grain: one row per mark of a person, the newest first.
SELECT
    mark_id, marked_at, text, who, created_at, run_id, suite, model, test, backend, variant, environment, accelerator,
    accelerator_model, machine_id
FROM marks
ORDER BY marked_at DESC, mark_id
