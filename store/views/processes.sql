-- Grain of processes(): one row per record of a process that results pool: no calibration, confirmation or payoff, and no
-- A/A control. A result shows those of its attempt: it joins them by run_id, result_id and attempt.
CREATE OR REPLACE MACRO processes() AS TABLE
SELECT *
FROM records
WHERE purpose = 'benchmark' AND twin_of IS NULL;
