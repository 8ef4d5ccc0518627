-- Grain: as macro geomeans, for the runs $runs, over the filtered models. One query for the shown run and those before it: most
-- of what it takes is its plan.
SELECT *
FROM geomeans(
    $baseline_backend::VARCHAR,
    $point::VARCHAR,
    models := CASE WHEN len($model::VARCHAR[]) > 0 THEN $model::VARCHAR[] END,
    runs := $runs::VARCHAR[],
    baseline_accelerator := $baseline_accelerator::VARCHAR,
    clean_of := $only::VARCHAR[]
)
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
    AND /*filters without run model*/
ORDER BY run_started, run_id, test, accelerator, suite, variant, environment
