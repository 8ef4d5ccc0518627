-- Grain: as view findings, for the shown run: what speaks against a number, found in whatever process.
SELECT code, suite, model, test, accelerator, variant, environment, dtype, text, next_step, processes_n
FROM findings
WHERE /*filters*/
ORDER BY code, suite, model, test, variant, environment
