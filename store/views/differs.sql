-- Scalar macro, no grain: says how a field of two results differs, NULL where it does not.
-- Unknown is never equal, but two unknowns of one run stand for the same fact.
CREATE OR REPLACE MACRO differs(field, own, baseline, same_run) AS
CASE
    WHEN own IS NULL AND baseline IS NULL THEN CASE WHEN NOT same_run THEN field || ' unknown on both sides' END
    WHEN own IS NULL THEN field || ' unknown against ' || baseline
    WHEN baseline IS NULL THEN field || ' ' || own || ' against unknown'
    WHEN own <> baseline THEN field || ' ' || own || ' against ' || baseline
END;
