-- Grain of unclean(clean_of, runs): one row per run × suite × model × test of which a result has what `clean_of` excludes ('no
-- fallback ops', 'no graph breaks'), of `runs` (NULL: all); none where `clean_of` is empty.
CREATE OR REPLACE MACRO unclean(clean_of, runs) AS TABLE
SELECT DISTINCT run_id, suite, model, test
FROM result_rows
WHERE len(clean_of::VARCHAR[]) > 0
    AND (runs IS NULL OR run_id IN (SELECT unnest(runs::VARCHAR[])))
    AND (list_contains(clean_of::VARCHAR[], 'no fallback ops') AND fallback_ops_n > 0
        OR list_contains(clean_of::VARCHAR[], 'no graph breaks') AND graph_breaks_n > 0);
