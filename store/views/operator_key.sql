-- Scalar macro, no grain: the op of an operator or of a fallback op, without module, namespace, overload and arguments:
-- `aten::add.Tensor(…)` is add, `torch.nn.functional.relu(…)` is relu, `nonzero` is nonzero.
CREATE OR REPLACE MACRO operator_key(name) AS CASE
    WHEN contains(split_part(name, '(', 1), '::')
        THEN split_part(split_part(split_part(name, '(', 1), '::', 2), '.', 1)
    ELSE split_part(split_part(name, '(', 1), '.', -1) END;
