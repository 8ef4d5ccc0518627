-- Grain: one row per series without the model, of the shown run, and what the paired rule does with a model: `paired`, or why
-- not (as macro pair_lists: left the result, right its baseline), with the filtered models of which that holds.
WITH lists AS (
    SELECT
        * EXCLUDE (n, paired, not_comparable, only_left, only_right, failed_left, failed_right),
        unnest(['paired', 'not_comparable', 'only_left', 'only_right', 'failed_left', 'failed_right']) AS why,
        unnest([paired, not_comparable, only_left, only_right, failed_left, failed_right]) AS models
    FROM pair_lists(
        $baseline_backend::VARCHAR, $baseline_run::VARCHAR, baseline_accelerator := $baseline_accelerator::VARCHAR
    )
    WHERE run_id = $run
),
named AS (
    SELECT * EXCLUDE (models), unnest(models) AS model FROM lists
),
grouped AS (
    SELECT
        test, accelerator, suite, environment, dtype, requested_batch_size, machine_id, optimizer, loss, matmul_precision,
        workload, backend, variant, why,
        count(*) AS n,
        list(model ORDER BY model) AS models
    FROM named
    WHERE /*filters*/
    GROUP BY ALL
)
SELECT *
FROM grouped
ORDER BY test, accelerator, suite, variant, environment, why <> 'paired', why
