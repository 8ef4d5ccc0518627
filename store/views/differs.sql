-- Scalar macro, no grain: how a field of two results differs, NULL if it does not. An unknown value equals nothing,
-- except an unknown value of the same run.
CREATE OR REPLACE MACRO differs(field, own, baseline, same_run) AS
CASE
    WHEN own IS NULL AND baseline IS NULL THEN CASE WHEN NOT same_run THEN field || ' unknown on both sides' END
    WHEN own IS NULL THEN field || ' unknown against ' || baseline
    WHEN baseline IS NULL THEN field || ' ' || own || ' against unknown'
    WHEN own <> baseline THEN field || ' ' || own || ' against ' || baseline
END;
