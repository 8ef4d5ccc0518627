-- Grain: that of the table or view $table, of these runs.
SELECT COLUMNS(lambda name: name <> 'result_id')
FROM query_table($table::VARCHAR)
WHERE list_contains($runs::VARCHAR[], run_id)
