-- Grain: as view noise_floors, of the experiments that run $run measured against themselves; all its columns.
SELECT f.*
FROM noise_floors AS f
WHERE EXISTS (
    SELECT 1
    FROM aa_pairs AS p
    WHERE p.run_id = $run AND p.machine_id = f.machine_id AND p.experiment_id = f.experiment_id
        AND p.accelerator = f.accelerator AND p.measured = f.measured AND p.policy IS NOT DISTINCT FROM f.policy
)
ORDER BY f.suite, f.model, f.test, f.variant
