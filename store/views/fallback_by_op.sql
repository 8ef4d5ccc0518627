-- Grain: one row per run × test × accelerator × backend × variant × environment × op that XLA did not lower; the totals
-- of its rows of fallback_calls (macro fallback_totals).
CREATE OR REPLACE VIEW fallback_by_op AS
SELECT
    run_id, run_label, run_started, test, accelerator, backend, variant, environment, op,
    unnest(totals)
FROM (
    SELECT
        run_id,
        any_value(run_label) AS run_label,
        any_value(run_started) AS run_started,
        test, accelerator, backend, variant, environment, op,
        fallback_totals(c) AS totals
    FROM fallback_calls AS c
    GROUP BY run_id, test, accelerator, backend, variant, environment, op
);
