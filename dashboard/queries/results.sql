-- Grain: as view results, for the shown run, without the records' text.
SELECT *
FROM result_rows
WHERE /*filters*/
ORDER BY suite, model, test, variant, environment
