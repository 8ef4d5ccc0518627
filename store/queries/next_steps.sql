-- Grain: one row per result of a run and reason to look closer: `fallback` (an op that runs outside XLA; `amount` calls per
-- iteration), `graph_break` (`amount` breaks, one of their reasons), `never` (compiling never pays against eager of the
-- same run, and the interval says so, for any valid result of the backend; `amount` times eager's latency, of the fastest).
-- Of several results of a backend (variants, environments, cold and warm caches), the one with most calls or breaks counts;
-- their sum is no result's. `what` is the op, a reason or the backend. `inputs`: of a model of the user's own, what was
-- typed with --input, as JSON.
WITH found AS (
    SELECT 'fallback' AS kind, suite, model, test, backend, op AS what, max(calls_per_iteration) AS amount
    FROM fallback_ops
    WHERE run_id = $run AND klass <> 'host_read' AND calls_per_iteration > 0
    GROUP BY ALL
    UNION ALL
    SELECT 'graph_break', suite, model, test, backend, min(reason), max(breaks_n)
    FROM (
        SELECT result_id, suite, model, test, backend, min(reason) AS reason, sum(count) AS breaks_n
        FROM graph_breaks
        WHERE run_id = $run
        GROUP BY ALL
    )
    GROUP BY ALL
    UNION ALL
    SELECT 'never', suite, model, test, backend, backend, min(latency_s / baseline_latency_s)
    FROM break_evens('eager', NULL, runs := [$run])
    WHERE run_id = $run AND valid AND record_id IS DISTINCT FROM baseline_record_id
    GROUP BY ALL
    HAVING bool_and(coalesce(break_even = 'never' AND speedup_high < 1, false))
),
typed AS (
    SELECT model, any_value(json_extract(record, '$.experiment.source.inputs')::VARCHAR) AS inputs
    FROM records
    WHERE run_id = $run AND suite = 'own'
    GROUP BY model
)
SELECT found.*, typed.inputs
FROM found
LEFT JOIN typed ON found.suite = 'own' AND typed.model = found.model
ORDER BY kind, found.suite, found.model, test, what, backend;
