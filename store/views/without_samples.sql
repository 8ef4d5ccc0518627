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
        'wait_all_s', NULL
    ))
));
