"""What a request may cost before anybody decides on it: builds, cases, depth, and seconds have bounds."""

import json
import time

import pytest

from runner.jobs import check
from runner.jobs.check import check_configurations
from runner.jobs.request import RunRequest, Selection, encode
from store.errors import UsageError
from tests.faults.fault_rows import add_row

GENERATOR = "PyTorch:DefaultDataGenerator"


def configuration(config, op="aten::add", **info):
    return json.dumps({op: {"input_data_generator": GENERATOR, "config": [config], **info}})


def ranged(last):
    return {"type": "int", "value": [1, last], "__range__": ["value"]}


RANGES = {"build_iterator": "RangeConfigIterator", "input_iterator": "RangeConfigIterator"}
TENSOR = {"type": "tensor", "dtype": "float", "shape": [2]}
LONG = [TENSOR] * 1200
COSTLY = {
    "100,000 builds without an input": configuration({"build": [{"args": [ranged(100_000)]}], "input": []}, **RANGES),
    "100,000 inputs": configuration({"input": [{"args": [ranged(100_000)]}]}, **RANGES),
    "a product of long ranges": configuration({"input": [{"args": [ranged(90_000)] * 500}]}, **RANGES),
    "a range in a long shape": configuration(
        {"input": [{"args": [{**TENSOR, "shape": [[1, 100_000], *[1] * 2_000], "__range__": ["shape"]}]}]}, **RANGES
    ),
    "a range in an argument of many fields": configuration(
        {"input": [{"args": [{**ranged(100_000), **{f"field{number}": 1 for number in range(1_000)}}]}]}, **RANGES
    ),
    "many long calls": configuration({"input": [{"args": [ranged(2_400), *LONG]}]}, **RANGES),
    "embedding bags": configuration(
        {"build": [{"args": [1, 2, 3, 4, 5, 6]}], "input": [{"args": [ranged(99_999), ranged(99_999)]}]},
        input_iterator="SplitTableBatchedEmbeddingBagsCodegenInputIterator",
    ),
    "60 levels": configuration({"input": [{"args": [json.loads('{"type":"genericlist","value":[' * 60 + "]}" * 60)]}]}),
}


@pytest.mark.parametrize("name", COSTLY)
def test_a_costly_configuration_is_refused_in_seconds(monkeypatch, name):
    monkeypatch.setattr(check, "_MOST_S", 0.3)
    begun = time.thread_time()
    with pytest.raises(UsageError) as told:
        check_configurations([COSTLY[name]])
    assert time.thread_time() - begun < 6
    assert len(str(told.value)) < 500
    add_row("operator configurations that expand endlessly", 1, "refused in seconds")


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ('"\\ud800"', "half of a surrogate pair"),
        ("9" * 5000, "not valid JSON"),
        (", ".join(["9" * 400] * 20), "bytes that a job allows"),
    ],
)
def test_what_msgspec_or_python_cannot_hold_is_said(shape, why):
    text = configuration({"input": [{"args": [TENSOR]}]}).replace("[2]", f"[{shape}]")
    with pytest.raises(UsageError, match=why):
        check_configurations([text])


def test_an_empty_input_is_an_error():
    with pytest.raises(UsageError, match="input: it is empty, so it has no case"):
        check_configurations([configuration({"input": []})])


def test_the_request_with_it_is_refused_with_the_same_sentence():
    request = RunRequest(
        selection=Selection(suite_name=("operators",), config=(COSTLY["100,000 builds without an input"],))
    )
    with pytest.raises(check.BadRequest, match="it is empty"):
        check.read(encode(request), 1 << 20, ())


SLOW = (".?" * 24 + "X", "(a+)+$", "(.*)*b", "(x+x+)+y")
"""What takes Python's own engine seconds to years over a name of 60 letters."""


@pytest.mark.parametrize("pattern", SLOW)
def test_no_pattern_takes_long(pattern):
    from store import patterns

    begun = time.thread_time()
    try:
        found = patterns.compiled(pattern)
    except patterns.BadPattern:
        return
    assert not found.search("a" * 60 + "!")
    assert time.thread_time() - begun < 0.5
    add_row("regular expressions that take Python's own engine years", 1, "linear time")


def test_a_short_pattern_that_stands_for_a_huge_one_is_refused():
    """It took 59 ms for each name, a minute for those of a suite."""
    from store import patterns

    with pytest.raises(patterns.BadPattern, match="pattern too large"):
        patterns.compiled(f"(({'.?' * 26}){{1000}}|x)*y")
    assert patterns.any_of([f"some_model_{number}_of_a_long_list" for number in range(1500)]).search(
        "some_model_7_of_a_long_list"
    )


def test_a_pattern_of_a_request_is_taken_where_its_time_is_bounded():
    request = RunRequest(selection=Selection(suite_name=("dummy",), filter=("(dummy_.*)*", ".?" * 24)))
    assert check.read(encode(request), 1 << 20, ()) == request


@pytest.mark.parametrize("pattern", ["(?=a)", "(", "*a", r"(a)\1"])
def test_what_is_no_pattern_of_that_syntax_is_said(pattern):
    from store import patterns

    with pytest.raises(patterns.BadPattern, match="is not a regular expression"):
        patterns.compiled(pattern)
