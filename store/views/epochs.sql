-- Grain: one row per series that a person's mark names: when its epochs begin. A series without a row has epoch 0 only.
CREATE OR REPLACE VIEW epochs AS
SELECT series_id, list_sort(list(marked_at)) AS begins
FROM series_marks
GROUP BY series_id;
