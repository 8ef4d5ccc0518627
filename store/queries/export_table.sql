-- Grain: that of the table or view $table, of these runs.
SELECT COLUMNS(lambda name: name <> 'result_id')
FROM query_table($table::VARCHAR)
WHERE run_id IN (SELECT unnest($runs::VARCHAR[]))
