-- Scalar macro, no grain: the names of models, sorted; those that several suites of `among` have are with their suite, as
-- `timm_models/resnet18`. Both arguments are lists of structs of suite and model.
CREATE OR REPLACE MACRO model_names(models, among) AS list_sort(CASE
    WHEN len(list_distinct(list_transform(among, lambda of: of.model))) = len(among)
        THEN list_transform(models, lambda of: of.model)
    ELSE list_transform(models, lambda of: CASE
        WHEN len(list_filter(among, lambda other: other.model = of.model)) > 1 THEN of.suite || '/' || of.model
        ELSE of.model
    END)
END);
