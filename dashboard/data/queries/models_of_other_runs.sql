-- Grain: one row per suite × model × test that runs measured and the shown run did not plan, with the newest of these runs.
SELECT suite, model, test, arg_max(run_id, run_started) AS run_id
FROM result_rows
WHERE status NOT IN ('skipped', 'not_run') OR run_id = $run
GROUP BY suite, model, test
HAVING NOT bool_or(run_id = $run)
ORDER BY suite, model, test
