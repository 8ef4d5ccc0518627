-- Macros of loading.

-- name: macros
-- Words of the other files here. A list handed to `middle` or `quantile_of` is sorted and has no NULL.

CREATE OR REPLACE TEMP MACRO middle(ordered) AS
    (ordered[(len(ordered) + 1) // 2] + ordered[len(ordered) // 2 + 1]) / 2;

-- Linear interpolation between order statistics: R type 7, numpy's default.
CREATE OR REPLACE TEMP MACRO quantile_of(ordered, share) AS
    ordered[floor((len(ordered) - 1) * share)::BIGINT + 1]
    + (ordered[least(floor((len(ordered) - 1) * share)::BIGINT + 2, len(ordered))]
        - ordered[floor((len(ordered) - 1) * share)::BIGINT + 1])
    * ((len(ordered) - 1) * share - floor((len(ordered) - 1) * share));

-- Unix seconds as a UTC timestamp, rounded to microseconds as Python's datetime does.
CREATE OR REPLACE TEMP MACRO utc(seconds) AS
    make_timestamp(floor(seconds)::BIGINT * 1000000 + round_even((seconds - floor(seconds)) * 1e6, 0)::BIGINT);

-- A number that was computed from measured ones, to ten digits: what follows them is noise of binary fractions, which
-- no compression makes smaller, and an eighth of an index would consist of it. A ratio may be infinite.
CREATE OR REPLACE TEMP MACRO rounded(number) AS
    CASE WHEN number <> 0 AND isfinite(number) THEN round(number, 9 - floor(log10(abs(number)))::INTEGER)
        ELSE number END;

CREATE OR REPLACE TEMP MACRO present(items) AS
    CASE WHEN list_count(items) = len(items) THEN items ELSE list_filter(items, lambda x: x IS NOT NULL) END;

CREATE OR REPLACE TEMP MACRO filled(items) AS CASE WHEN list_count(items) > 0 THEN items END;

-- Two bytes of a record_id's digest, the same in every version of DuckDB (its `hash` may change): what step `known` reads first.
CREATE OR REPLACE TEMP MACRO id_number_of(record_id) AS (md5_number_lower(record_id) & 65535)::USMALLINT;

-- The array where it has an entry for each block, else none: `unnest` and `list_zip` fill up with NULL.
CREATE OR REPLACE TEMP MACRO parallel(items, n) AS CASE WHEN len(items) = n THEN items ELSE [] END;

-- Whether a metric is neither a column of `records` nor, as what XLA reports, an entry for each block.
CREATE OR REPLACE TEMP MACRO is_further(name) AS NOT starts_with(name, 'xla_') AND name NOT IN (
    'total_time', 'per_iter_time', 'trace_total_time', 'trace_per_iter_time', 'dynamo_compile_time_s', 'error',
    {scalar names});

CREATE OR REPLACE TEMP MACRO stripped(t) AS regexp_replace(
    t,
    '^[\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+|[\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]+$',
    '', 'g');

-- The first line of a text that is not blank, and the last, cut to 300 characters; NULL where all are blank.
CREATE OR REPLACE TEMP MACRO first_line(t) AS
    nullif(left(stripped(regexp_extract(stripped(t), '^[^\n-\r\x1c-\x1e\x{85}\x{2028}\x{2029}]*')), 300), '');
CREATE OR REPLACE TEMP MACRO last_line(t) AS
    nullif(left(stripped(regexp_extract(stripped(t), '[^\n-\r\x1c-\x1e\x{85}\x{2028}\x{2029}]*$')), 300), '');

CREATE OR REPLACE TEMP MACRO backend_of(xla, dynamo, torch_xla2) AS CASE
    WHEN torch_xla2 = 'true' THEN 'torch_xla2+True'
    WHEN torch_xla2 NOT IN ('', 'false') THEN 'torch_xla2+' || torch_xla2
    WHEN xla IS NULL THEN CASE WHEN dynamo = 'eager' THEN 'eager+dynamo' ELSE coalesce(nullif(dynamo, ''), 'eager') END
    WHEN dynamo IS NULL THEN 'openxla+lazytensor'
    WHEN dynamo = 'openxla' THEN 'openxla+dynamo'
    ELSE dynamo END;

-- What is timed, where it is not the default, of an `experiment` or a planned `config`: the words of each setting that
-- has any (store/identity.py), such as CASE WHEN e.disable_tf32 THEN 'disable-tf32' END.
CREATE OR REPLACE TEMP MACRO workload_words(e) AS concat_ws(' ', {workload});
CREATE OR REPLACE TEMP MACRO workload_of(e) AS nullif(workload_words(e), '');

-- What the environment changed of the libraries and their threads, and the priority (`measurement.quiet.policy`). Records
-- from before variables were part of the policy hold `libraries`, later ones the variables of threads: the others are
-- those of the record.
CREATE OR REPLACE TEMP MACRO variable_of(variables, name) AS
    name || '=' || nullif(upper(regexp_replace(variables ->> ('$.' || name), '\s', '', 'g')), '');

CREATE OR REPLACE TEMP MACRO given_words(policy, variables) AS array_to_string(list_sort(list_distinct(list_concat(
    list_filter(string_split(policy, ', '), lambda part: contains(part, '=')),
    list_transform(
        list_filter(json_keys(variables), lambda name: regexp_full_match(name, '[A-Z0-9_]+')
            AND NOT regexp_matches(name, {neutral}) AND NOT contains(', ' || coalesce(policy, ''), ', ' || name || '=')),
        lambda name: variable_of(variables, name)
    )
))), ', ');

-- The policy with `given`, the text of `given_words`.
CREATE OR REPLACE TEMP MACRO policy_of(policy, given) AS CASE
    WHEN coalesce(given, '') = '' THEN policy
    ELSE concat_ws(', ', given, nullif(array_to_string(list_filter(
        string_split(policy, ', '), lambda part: part <> 'libraries' AND NOT contains(part, '=')
    ), ', '), '')) END;
