-- Grain: as macro break_evens, for the shown run; the baseline's own rows are left out.
SELECT *
FROM break_evens(
    $baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR
)
WHERE record_id IS DISTINCT FROM baseline_record_id AND /*filters*/
ORDER BY test, accelerator, suite, model, variant, environment
