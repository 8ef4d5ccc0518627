-- Scalar macro, no grain: whether an experiment was attempted and gave nothing that can be used. What was left out, only
-- verified or refused is counted by itself.
CREATE OR REPLACE MACRO is_failed(ran, status) AS
NOT ran AND status NOT IN ('skipped', 'verify_only', 'never_steady', 'disturbed', 'not_run');
