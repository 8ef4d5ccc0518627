    AND (suite, model, test) NOT IN (
        SELECT (suite, model, test) FROM unclean($only::VARCHAR[], [$run])
    )
