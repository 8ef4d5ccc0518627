-- Grain: as macro what_differs: one row per fact in which two runs differ.
SELECT * FROM what_differs($other, $run) ORDER BY scope, environment NULLS FIRST, field
