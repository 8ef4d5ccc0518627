"""Cold is cold and warm is warm: what inductor's own counters say in real processes."""

import functools
import json
from pathlib import Path

import pytest
from runner_makers import config

from runner.backends import steps
from runner.environments.machine import detect
from runner.plan.local_request import XLA_CPU_CACHE, not_measurable
from tests.command import xlabench
from tests.tiers import first_of

real = pytest.mark.skipif("torch" not in detect().packages, reason="torch is needed")


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Return the records of a run of one model under inductor by their cache; each run is made once."""
    home = tmp_path_factory.mktemp("home")
    words = ["run", "--suite-name", "telling", "--only", "linear", "--accelerator", "cpu", "--test", "eval"]
    words += ["--xla", "None", "--dynamo", "inductor", "--repeat", "3", "--collect-dynamo-counters", "--no-ingest"]

    @functools.cache
    def measured(cache):
        folder = home / cache
        xlabench(*words, "--cache", cache, "--home", home, "--output-dirname", folder)
        lines = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
        return {each["measurement"]["cache"]: each for each in lines}

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XLABENCH_SUITES", "tests.runner.telling_suite:SUITE")
        yield measured


def hits_and_misses(record):
    counters = record["metrics"]["dynamo_counters"][0].get("inductor", {})
    return counters.get("fxgraph_cache_hit", 0), counters.get("fxgraph_cache_miss", 0)


@pytest.mark.slow
@real
def test_a_cold_process_finds_nothing(records):
    """Though others have compiled the same model before, on this machine."""
    hits, misses = hits_and_misses(records("both")["cold"])
    assert hits == 0
    assert misses == 1


@pytest.mark.slow
@real
@pytest.mark.parametrize("asked", first_of(["both", "warm"]))
def test_a_warm_process_compiles_nothing_anew(records, asked):
    found = records(asked)["warm"]
    hits, misses = hits_and_misses(found)
    assert hits == 1
    assert misses == 0
    assert [text for text in found["warnings"] if "cache=warm" in text] == []


def folder_of(record):
    return record["environment"]["variables"]["TORCHINDUCTOR_CACHE_DIR"]


@pytest.mark.slow
@real
def test_the_warm_one_of_a_pair_has_its_siblings_folder_which_does_not_stay(records):
    [folder] = {folder_of(each) for each in records("both").values()}
    assert not Path(folder).exists()


@pytest.mark.slow
@real
def test_the_warm_one_is_an_experiment_of_its_own(records):
    cold, warm = records("both")["cold"], records("both")["warm"]
    assert (cold["variant"], warm["variant"]) == ("inductor", "inductor cache=warm")
    assert cold["experiment_id"] != warm["experiment_id"]


@pytest.mark.slow
@real
@pytest.mark.thorough
def test_a_warm_one_alone_is_the_same_experiment_after_a_primer(records):
    alone = records("warm")["warm"]
    assert alone["experiment_id"] == records("both")["warm"]["experiment_id"]
    assert [each["path"].rsplit("/")[-1] for each in alone["artifacts"]] == [
        "attempt-1-primer.log",
        "attempt-1-timed.log",
    ]


@pytest.mark.parametrize("backend", ["openxla+lazytensor", "openxla+dynamo"])
def test_xla_is_never_warm_on_the_cpu(backend):
    """Its CPU runtime cannot read what it wrote, so the plan says that instead of measuring cold under another name."""
    assert not_measurable(config(backend, cache="warm")) == XLA_CPU_CACHE
    assert not_measurable(config(backend, cache="warm", accelerator="tpu")) is None
    assert not_measurable(config(backend)) is None


def test_inductor_and_eager():
    assert not_measurable(config("inductor", cache="warm")) is None
    assert "keeps no cache" in not_measurable(config("eager", cache="warm"))


class Utils:
    def __init__(self, **counters):
        self.counters = {
            "inductor": dict.fromkeys(("fxgraph_cache_hit", "fxgraph_cache_miss", "fxgraph_cache_bypass"), 0)
        }
        self.counters["inductor"] |= counters


@pytest.mark.parametrize(
    ("cache", "counters", "said"),
    [
        ("warm", {"fxgraph_cache_miss": 2, "fxgraph_cache_bypass": 1}, ["(2 misses, 1 not cacheable)"]),
        ("warm", {"fxgraph_cache_hit": 1}, []),
        ("cold", {"fxgraph_cache_miss": 2}, []),
    ],
)
def test_a_warm_experiment_without_a_hit_says_so(monkeypatch, cache, counters, said):
    """A model whose graphs inductor does not cache compiles anew each time."""
    monkeypatch.setitem(steps.sys.modules, "torch._dynamo.utils", Utils(**counters))
    found = steps.warnings(config("inductor", cache=cache))
    assert len(found) == len(said)
    assert all(part in text for part, text in zip(said, found, strict=True))
