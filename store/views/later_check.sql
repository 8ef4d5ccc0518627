-- Scalar macro, no grain: the verification code that the newest later run found which verified the same experiment without
-- timing it, as after a first look: same environment, machine and versions. NULL where no later run did.
CREATE OR REPLACE MACRO later_check(of_experiment, of_environment, of_machine, of_torch, of_torch_xla, after) AS (
    SELECT arg_max(c.verification_code, c.run_started)
    FROM result_rows AS c
    WHERE c.status = 'verify_only' AND c.experiment_id = of_experiment AND c.run_started > after
        AND c.environment IS NOT DISTINCT FROM of_environment AND c.machine_id IS NOT DISTINCT FROM of_machine
        AND c.torch IS NOT DISTINCT FROM of_torch AND c.torch_xla IS NOT DISTINCT FROM of_torch_xla
);
