-- Grain: one row per run.json of the relation `runs`, validated.
CREATE OR REPLACE TEMP TABLE run_texts AS
SELECT path, r
FROM (
    SELECT path, from_json(text, '{ReadRunFile}') AS r
    FROM runs
);
