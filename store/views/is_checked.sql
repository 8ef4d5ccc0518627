-- Scalar macro, no grain: whether a verification was begun; NULL without a code.
CREATE OR REPLACE MACRO is_checked(verification_code) AS
verification_code NOT IN ('VERIFIER_SKIPPED', 'VERIFIER_DIDNT_RUN');
