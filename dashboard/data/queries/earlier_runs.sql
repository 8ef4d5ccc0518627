-- Grain: one row per earlier run that measured at least half of the series that the shown run planned:
-- the newest twelve, from the newest on. The first is what the shown run is compared with.
WITH shown AS (
    SELECT DISTINCT series_id
    FROM result_rows
    WHERE run_id = $run AND status <> 'skipped'
)
SELECT r.run_id, any_value(r.run_label) AS run_label, any_value(r.run_started) AS run_started, count(*) AS shared_n
FROM result_rows AS r
SEMI JOIN shown ON shown.series_id = r.series_id
WHERE r.status NOT IN ('skipped', 'not_run')
    AND r.run_started < (SELECT max(run_started) FROM result_rows WHERE run_id = $run)
GROUP BY r.run_id
HAVING 2 * count(*) >= (SELECT count(*) FROM shown)
ORDER BY run_started DESC, run_id DESC
LIMIT 12
