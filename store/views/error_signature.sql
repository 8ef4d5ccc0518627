-- Scalar macro, no grain: an error message in which everything is replaced that differs from case to case (the model's
-- name, identifiers, paths, addresses, tensor shapes, numbers), so that equal faults have equal texts. Signals and exit
-- codes distinguish faults and stay; a digit within a word (float32) is part of the word.
CREATE OR REPLACE MACRO error_signature(message, model) AS
regexp_replace(
    regexp_replace(
        regexp_replace(
            regexp_replace(
                regexp_replace(
                    regexp_replace(
                        regexp_replace(
                            regexp_replace(
                                CASE WHEN length(model) > 3 THEN replace(message, model, '<model>') ELSE message END,
                                '\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b', '<id>', 'g'
                            ),
                            '(?:~|\.{1,2})?(?:/[\w.@+~-]+){2,}/?(?::\d+)*', '<path>', 'g'
                        ),
                        '\b0[xX][0-9a-fA-F]+\b', '<address>', 'g'
                    ),
                    '(?i)\b(signal|exit code|exit status|errno) (-?\d+)', '\1_\2', 'g'
                ),
                '(?:[\[(]\s*s?\d+\s*(?:,\s*s?\d+\s*)+,?[\])]|\[\s*s?\d*\s*,?\s*\]|\b\d+(?:x\d+)+\b)(?:\{[\d,]*\})?',
                '<shape>', 'g'
            ),
            '\b(?:[0-9]+[a-f]|[a-f]+[0-9])[0-9a-f]{6,}\b', '<id>', 'g'
        ),
        '(^|[^\w.-])[-+]?\d+(?:[.,:-]\d+)*(?:[eE][-+]?\d+)?', '\1<n>', 'g'
    ),
    '(?i)\b(signal|exit code|exit status|errno)_(-?\d+)', '\1 \2', 'g'
);
