-- Scalar macro, no grain: whether a record shows that its experiment works: P passed, F failed, NULL neither. A wrong
-- answer is a failure; times that never settle are no failure, because the program ran.
CREATE OR REPLACE MACRO outcome(status, ran, verification_code) AS
CASE
    WHEN verification_code = 'FAIL' THEN 'F'
    WHEN ran OR status IN ('never_steady', 'disturbed') THEN 'P'
    WHEN status = 'verify_only' THEN CASE WHEN verification_code = 'PASS' THEN 'P' END
    WHEN status NOT IN ('skipped', 'not_run') THEN 'F'
END;
