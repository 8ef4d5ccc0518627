-- Scalar macro, no grain: the key of the requested settings in which a result and its baseline agree. An unknown setting
-- equals an unknown one here; view comparable and macro differs say where that is not enough. The devices are not part of this
-- key, as a baseline may be of another one.
CREATE OR REPLACE MACRO settings_of(
    environment, dtype, requested_batch_size, optimizer, loss, matmul_precision, workload
) AS
left(md5(to_json([
    environment, dtype, requested_batch_size::VARCHAR, optimizer, loss, matmul_precision, workload
])::VARCHAR), 16);
