-- Grain: that of the table or view $table, of these runs.
SELECT *
FROM query_table($table::VARCHAR)
WHERE list_contains($runs::VARCHAR[], run_id)
