-- Scalar macro, no grain: whether a result counts in means, medians and comparisons: it ran, and its answer is not wrong.
CREATE OR REPLACE MACRO is_valid(ran, verification_code) AS ran AND verification_code IS DISTINCT FROM 'FAIL';
