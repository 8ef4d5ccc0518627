-- Scalar macro, no grain: the identity of a series of a whole suite, as a struct: that of the series of its models,
-- without the model. Means over models group by its key, `suite_series_id`, and show these columns. Macros over many
-- columns write the struct out, because DuckDB plans a macro of a whole row slowly.
CREATE OR REPLACE MACRO suite_series(of) AS {
    suite: of.suite,
    test: of.test,
    accelerator: of.accelerator,
    accelerator_model: of.accelerator_model,
    machine_id: of.machine_id,
    environment: of.environment,
    dtype: of.dtype,
    requested_batch_size: of.requested_batch_size,
    optimizer: of.optimizer,
    loss: of.loss,
    matmul_precision: of.matmul_precision,
    workload: of.workload,
    backend: of.backend,
    variant: of.variant
};

-- Scalar macro, no grain: the key of a series of a whole suite.
CREATE OR REPLACE MACRO suite_series_of(of) AS left(md5(to_json(suite_series(of))::VARCHAR), 16);
