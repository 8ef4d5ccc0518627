-- What table `result_rows` is made with: scalar macros, and views of the records.

-- name: scalars
-- Scalar macro, no grain: how a field of two results differs, NULL if it does not. An unknown value equals nothing,
-- except an unknown value of the same run.
CREATE OR REPLACE MACRO differs(field, own, baseline, same_run) AS
CASE
    WHEN own IS NULL AND baseline IS NULL THEN CASE WHEN NOT same_run THEN field || ' unknown on both sides' END
    WHEN own IS NULL THEN field || ' unknown against ' || baseline
    WHEN baseline IS NULL THEN field || ' ' || own || ' against unknown'
    WHEN own <> baseline THEN field || ' ' || own || ' against ' || baseline
END;

-- Scalar macro, no grain: how two results differ in these fields, in words, NULL for one that agrees or does not count. All
-- arguments but the last are lists with one element per field: DuckDB takes long to plan as many conditions. Most results
-- agree in all fields, which is found at once.
CREATE OR REPLACE MACRO differences(fields, own, baseline, counts, same_run) AS
CASE WHEN own = baseline AND (same_run OR list_count(own) = len(own)) THEN []
    ELSE list_transform(
        list_zip(fields, own, baseline, counts),
        lambda f: CASE WHEN f[4] THEN differs(f[1], f[2], f[3], same_run) END
    )
END;

-- Scalar macro, no grain: whether a record shows that its experiment works: P passed, F failed, NULL neither. A wrong
-- answer is a failure; times that never settle are no failure, because the program ran.
CREATE OR REPLACE MACRO outcome(status, ran, verification_code) AS
CASE
    WHEN verification_code = 'FAIL' THEN 'F'
    WHEN ran OR status IN ('never_steady', 'disturbed') THEN 'P'
    WHEN status = 'verify_only' THEN CASE WHEN verification_code = 'PASS' THEN 'P' END
    WHEN status NOT IN ('skipped', 'not_run') THEN 'F'
END;

-- Scalar macro, no grain: whether a result counts in means, medians and comparisons: it ran, and its answer is not wrong.
CREATE OR REPLACE MACRO is_valid(ran, verification_code) AS ran AND verification_code IS DISTINCT FROM 'FAIL';

-- Scalar macro, no grain: whether an experiment was attempted and gave nothing that can be used. What was left out, only
-- verified or refused is counted by itself.
CREATE OR REPLACE MACRO is_failed(ran, status) AS
NOT ran AND status NOT IN ('skipped', 'verify_only', 'never_steady', 'disturbed', 'not_run');

-- Scalar macro, no grain: whether a verification was begun; NULL without a code.
CREATE OR REPLACE MACRO is_checked(verification_code) AS
verification_code NOT IN ('VERIFIER_SKIPPED', 'VERIFIER_DIDNT_RUN');

-- Scalar macro, no grain: the key of a result, and of every record that it pools: one experiment of one run in one
-- environment. An unknown environment is one environment. Joins also name the run, so that a scan reads only that run.
CREATE OR REPLACE MACRO result_of(run_id, experiment_id, environment) AS
left(md5(to_json([run_id, experiment_id, environment])::VARCHAR), 16);

-- Scalar macro, no grain: the key of the requested settings in which a result and its baseline agree. An unknown setting
-- equals an unknown one here; view comparable and macro differs say where that is not enough. The devices are not part of this
-- key, as a baseline may be of another one.
CREATE OR REPLACE MACRO settings_of(
    environment, dtype, requested_batch_size, optimizer, loss, matmul_precision, workload
) AS
left(md5(to_json([
    environment, dtype, requested_batch_size::VARCHAR, optimizer, loss, matmul_precision, workload
])::VARCHAR), 16);

-- Scalar macro, no grain: the key of how a result was measured. It is no part of a series' key, as a run decides it anew;
-- latencies of one series are compared from run to run only where it is equal. How threads waited (`policy`) is unknown
-- of older records and stands apart.
CREATE OR REPLACE MACRO measured_as(batch_size, threads, iterations_per_run, start, instrumented) AS
to_json([batch_size::VARCHAR, threads::VARCHAR, iterations_per_run::VARCHAR, start, instrumented::VARCHAR])::VARCHAR;

-- Scalar macro, no grain: the environment variables in a policy, which change how the libraries work; empty where there is none.
-- A value may have commas, as `0,2-3`, but no blank.
CREATE OR REPLACE MACRO variables_of_policy(policy) AS
coalesce(regexp_extract(policy, '^[A-Z0-9_]+=(?:[^,]|,[^ ])*(?:, [A-Z0-9_]+=(?:[^,]|,[^ ])*)*'), '');

-- Scalar macro, no grain: whether two policies (which variables changed how the libraries work, and at which priority) differ.
-- An unknown one, as that of older records, differs from none but those with variables.
CREATE OR REPLACE MACRO other_policy(own, other) AS
CASE WHEN own = other THEN false WHEN own <> other THEN true
    ELSE variables_of_policy(coalesce(own, other)) <> '' END;

-- Scalar macro, no grain: the epoch of a result of a run that started then, of a series whose epochs begin at `begins`:
-- the number of users' marks before it. Latencies of two epochs of a series are not compared.
CREATE OR REPLACE MACRO epoch_at(begins, started) AS
CASE WHEN begins IS NULL THEN 0 ELSE coalesce(len(list_filter(begins, lambda begin: begin <= started)), 0)::INTEGER END;

-- Scalar macro, no grain: whether a user's mark lies between two runs that started at `own` and `other`: an epoch of either of
-- two series, which begin at `own_begins` and `other_begins`. Their latencies are not divided then.
CREATE OR REPLACE MACRO is_mark_between(own_begins, own, other_begins, other) AS
coalesce(len(list_filter(
    list_concat(own_begins, other_begins),
    lambda begin: coalesce(begin <= own, false) <> coalesce(begin <= other, false)
)), 0) > 0;

-- Scalar macro, no grain: the key of a series. `experiment_id` stands for all that was requested (suite, model, test,
-- variant, dtype, batch size, …); what else must agree for two results to be of one series is part of the key.
CREATE OR REPLACE MACRO series_of(experiment_id, environment, accelerator_model, machine_id) AS
left(md5(to_json([experiment_id, environment, accelerator_model, machine_id])::VARCHAR), 16);

-- Scalar macro, no grain: the identity of a series of a whole suite, as a struct: that of the series of its models,
-- without the model. Means over models group by its key, `suite_series_id`, and show these columns.
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

-- Scalar macro, no grain: the factor that makes the median absolute deviation of `n` values unbiased (Croux and
-- Rousseeuw, 1992). Its constants are those of store/stats/effects.py; a test compares the two.
CREATE OR REPLACE MACRO mad_factor(n) AS
CASE WHEN n < 10 THEN [1.0, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107][n] ELSE n / (n - 0.8) END;

-- Scalar macro, no grain: samples per second.
CREATE OR REPLACE MACRO throughput_of(batch_size, latency_s) AS CASE WHEN latency_s > 0 THEN batch_size / latency_s END;

-- Scalar macro, no grain: the whole text of a record, a row of table `records` or `made`. Of another tool's record the
-- index keeps it with the names of columns in place of the lists that these hold (store/ingest/kept.py). A macro for
-- each list would take DuckDB 10 ms more to plan.
CREATE OR REPLACE MACRO whole_text(of) AS
CASE WHEN contains(of.record, '"@records.') THEN
    of.record::VARCHAR
    .replace('"@records.block_total_s"', coalesce(to_json(of.block_total_s)::VARCHAR, '"@records.block_total_s"'))
    .replace('"@records.block_per_iter_s"', coalesce(
        to_json(coalesce(
            of.block_per_iter_s, list_transform(of.block_total_s, lambda total: total / of.iterations_per_run)
        ))::VARCHAR,
        '"@records.block_per_iter_s"'
    ))
    .replace('"@records.block_trace_s"', coalesce(to_json(of.block_trace_s)::VARCHAR, '"@records.block_trace_s"'))
    .replace('"@records.block_compile_s"', coalesce(to_json(of.block_compile_s)::VARCHAR, '"@records.block_compile_s"'))
    .replace('"@records.block_execute_s"', coalesce(to_json(of.block_execute_s)::VARCHAR, '"@records.block_execute_s"'))
    .replace('"@records.load_time_s"', to_json([of.load_time_s])::VARCHAR)
    .replace('"@records.compiler_time_s"', to_json([of.compiler_time_s])::VARCHAR)
    .replace('"@records.peak_memory_bytes"', to_json([TRY_CAST(of.peak_memory_bytes AS BIGINT)])::VARCHAR)
    ::JSON
ELSE of.record END;

-- Scalar macro, no grain: the text of a record without its timed blocks, except their kinds; `samples_pruned` is the
-- day on which they were removed. The times of an operator's forward and backward pass stay, because no column has
-- them.
CREATE OR REPLACE MACRO without_samples(record, pruned_at) AS json_merge_patch(record, json_object(
    'samples_pruned', strftime(pruned_at, '%Y-%m-%d'),
    'metrics', map_from_entries(list_transform(
        list_filter(
            list_distinct(coalesce(json_keys(record, '$.metrics'), [])),
            lambda name: starts_with(name, 'xla_')
                OR name IN ('total_time', 'per_iter_time', 'trace_total_time', 'trace_per_iter_time')
        ),
        lambda name: {'key': name, 'value': NULL::VARCHAR}
    )),
    'measurement', json_object('blocks', json_object(
        'compiles', NULL, 'executions', NULL, 'round', NULL, 'inner_loops', NULL, 'rewarm_time', NULL, 'wait_s', NULL,
        'wait_all_s', NULL, 'removed_s', NULL
    ))
));

-- Scalar macro, no grain: the numbers of a list of a record's metrics, one for each steady block; none where the record
-- has no such list.
CREATE OR REPLACE MACRO steady_of(record, name) AS coalesce([
    pair[1] FOR pair IN list_zip(
        from_json(json_extract(record, '$.metrics.' || name), '["DOUBLE"]'),
        from_json(json_extract(record, '$.measurement.blocks.kind'), '["VARCHAR"]')
    ) IF pair[1] IS NOT NULL AND pair[2] = 'steady'
], []);

-- Scalar macro, no grain: the op of an operator or of a fallback op, without module, namespace, overload and arguments:
-- `aten::add.Tensor(…)` is add, `torch.nn.functional.relu(…)` is relu, `nonzero` is nonzero.
CREATE OR REPLACE MACRO operator_key(name) AS CASE
    WHEN contains(split_part(name, '(', 1), '::')
        THEN split_part(split_part(split_part(name, '(', 1), '::', 2), '.', 1)
    ELSE split_part(split_part(name, '(', 1), '.', -1) END;

-- Scalar macro, no grain: the share of an iteration that an op took in the profile pass. Older records lack the time of
-- that iteration: their share is one of the latency, which a profile does not slow.
CREATE OR REPLACE MACRO profile_share(time_s, profiled_iteration_s, latency_s) AS
    time_s / nullif(coalesce(profiled_iteration_s, latency_s), 0);

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

-- Scalar macro, no grain: the totals of the rows of fallback_calls of one op, as a struct, for queries that group them.
-- Values of different models are never summed: calls and times are the largest of a result. `steady_models_n` models
-- call it in steady iterations; for those in `blocked_models` it is the only op that is called there, so lowering it
-- alone would leave them without fallback. Lists count what is distinct: DuckDB plans each DISTINCT of an aggregate as
-- a join, unless that pass of its optimizer is disabled, as on the connections of readers (store/query.py).
CREATE OR REPLACE MACRO fallback_totals(of) AS {
    klass: any_value(of.klass),
    results_n: count(*),
    models_n: len(list_distinct(list((of.suite, of.model)))),
    steady_models_n: coalesce(len(list_distinct(list((of.suite, of.model)) FILTER (of.steady))), 0),
    blocked_n: coalesce(len(list_distinct(list((of.suite, of.model)) FILTER (of.alone))), 0),
    calls_per_iteration: max(of.calls_per_iteration),
    calls_compile: max(of.calls_compile),
    time_s: max(of.time_s),
    time_share: max(of.time_share),
    time_n: count(of.time_share),
    models: model_names(list_distinct(list({suite: of.suite, model: of.model})), list_distinct(list({suite: of.suite, model: of.model}))),
    blocked_models: coalesce(model_names(
        list_distinct(list({suite: of.suite, model: of.model}) FILTER (of.alone)),
        list_distinct(list({suite: of.suite, model: of.model}))
    ), [])
};

-- name: latest_run_files
-- Grain: one row per run_id that has a run.json and is no calibration; if a run lies in several places, the last path
-- counts.
CREATE OR REPLACE VIEW latest_run_files AS
SELECT *
FROM run_files
WHERE coalesce(settings ->> '$.purpose', 'benchmark') = 'benchmark'
QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY path DESC) = 1;

-- name: samples
-- Grain: one row per timed block of a record: record_id × block, in order from 0. A record whose samples `xlabench
-- prune` has removed (`records.pruned_at`) has none. Where a block repeats its iterations (`inner_loops`), its times and
-- executions are those of one repetition.
CREATE OR REPLACE VIEW samples AS
SELECT
    record_id, block, kind, round, total_s,
    coalesce(per_iter_s, total_s / nullif(iterations_per_run, 0)) AS per_iter_s,
    trace_s, compiles, executions, compile_s, execute_s, coalesce(loops, 1) AS inner_loops
FROM (
    SELECT
        record_id,
        iterations_per_run,
        (generate_subscripts(block_total_s, 1) - 1)::INTEGER AS block,
        unnest(block_kind) AS kind,
        unnest(block_round) AS round,
        unnest(block_total_s) AS total_s,
        unnest(block_per_iter_s) AS per_iter_s,
        unnest(block_trace_s) AS trace_s,
        unnest(block_compile_s) AS compile_s,
        unnest(block_execute_s) AS execute_s,
        unnest(block_compiles) AS compiles,
        unnest(block_executions) AS executions,
        unnest(block_loops) AS loops
    FROM records
);

-- name: processes
-- Grain of processes(): one row per record of a process that results pool: no calibration, confirmation or payoff, and no
-- A/A control. A result shows those of its attempt: it joins them by run_id, result_id and attempt.
CREATE OR REPLACE MACRO processes() AS TABLE
SELECT *
FROM records
WHERE purpose = 'benchmark' AND twin_of IS NULL;

-- Grain of record_places(runs): one row per record of these runs: the file that holds its line, and where; of several
-- files that hold it, the first path.
CREATE OR REPLACE MACRO record_places(runs) AS TABLE
SELECT record_id, min(path) AS path, arg_min(byte_offset, path) AS byte_offset
FROM record_sources
WHERE record_id IN (SELECT record_id FROM records WHERE run_id IN (SELECT unnest(runs::VARCHAR[])))
GROUP BY record_id;
