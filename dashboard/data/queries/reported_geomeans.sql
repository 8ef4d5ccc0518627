-- Grain: as view reported_geomeans: one row per published table × column of speedups.
SELECT * FROM reported_geomeans ORDER BY run_id, suite, test, backend, column_name
