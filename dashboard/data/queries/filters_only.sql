    AND (suite, model, test) NOT IN (
        SELECT (suite, model, test) FROM result_rows
        WHERE run_id = $run
            AND (list_contains($only::VARCHAR[], 'no fallback ops') AND fallback_ops_n > 0
                OR list_contains($only::VARCHAR[], 'no graph breaks') AND graph_breaks_n > 0)
    )
