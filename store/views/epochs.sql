-- Grain: one row per series that a user's mark names: the times at which its epochs begin. A series without a row has
-- only epoch 0.
CREATE OR REPLACE VIEW epochs AS
SELECT series_id, list_sort(list(marked_at)) AS begins
FROM series_marks
GROUP BY series_id;
