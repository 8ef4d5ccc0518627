-- Grain: one row per complete event of a chrome trace, each thread's in order, what encloses others before them.
-- Process and thread are words in some rows ("Spans", "Traces").
SELECT event.pid, event.tid, event.cat, event.name, event.ts, event.dur
FROM (
    SELECT unnest(traceEvents) AS event
    FROM read_json(
        $path,
        maximum_object_size = $largest,
        columns = {
            traceEvents: 'STRUCT(ph VARCHAR, cat VARCHAR, name VARCHAR, pid VARCHAR, tid VARCHAR, ts DOUBLE, dur DOUBLE)[]'
        }
    )
)
WHERE event.ph = 'X' AND event.dur IS NOT NULL
ORDER BY event.pid, event.tid, event.ts, event.dur DESC
