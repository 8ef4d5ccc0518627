"""The suites' tables: every entry has a reason, and stands for a model that exists."""

import pytest

from runner.plan.selection import _tiers
from runner.suites import data, huggingface, timm_models, torchbench
from runner.suites.base import SuiteDataError
from runner.suites.data import Tables

ALL = {"torchbench": torchbench._data, "huggingface": huggingface._data, "timm_models": timm_models._data}


@pytest.mark.parametrize("suite", ALL)
def test_every_entry_has_a_reason(suite):
    reasons = list(ALL[suite]().reasons())
    assert reasons
    assert all(len(reason) > 3 for _, reason in reasons)


@pytest.mark.parametrize("suite", ["huggingface", "timm_models"])
def test_every_name_in_a_table_is_a_model(suite):
    facts = ALL[suite]()
    assert {name for name, _ in facts.reasons()} <= set(facts.models) | set(facts.missing)


@pytest.mark.parametrize("suite", ["huggingface", "timm_models"])
def test_no_spelling_stands_for_two_models(suite):
    models = ALL[suite]().models
    spellings = [name for key, model in models.items() for name in (key, *model.aliases)]
    assert len(spellings) == len(set(spellings))


def test_an_entry_without_a_reason_is_refused(tmp_path):
    file = tmp_path / "x.yaml"
    file.write_text('skip: {test: {train: {one: " "}}}', encoding="utf-8")
    with pytest.raises(SuiteDataError, match=r"x\.yaml: the entry of one has no reason; give one\.$"):
        data.load(str(file), Tables)


def test_the_harnesses_facts_are_there():
    facts = torchbench._data()
    assert facts.info("tts_angular").dtypes[0].use == "amp"
    assert facts.info("vision_maskrcnn").dtypes[0].instead_of == ("bfloat16",)
    assert facts.info("hf_BigBird").slow == "3339 s: on the CPU of the TorchDynamo harness"
    assert facts.info("hf_T5_generate").backend_skips.keys() == {"openxla+lazytensor"}
    assert facts.info("llama").skips == {"train": "not designed for training"}
    assert set(facts.info("tacotron2").skips) == {"eval", "train"}
    assert huggingface._data().info("GoogleFnet").dtypes[0].use == "float32"
    assert huggingface._data().info("M2M100ForConditionalGeneration").skips.keys() == {"train"}


@pytest.mark.parametrize(("platform", "skips"), [("x86_64", set()), ("aarch64", {"cpu"})])
def test_a_skip_on_one_kind_of_cpu_counts_on_that_kind_only(platform, skips, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: platform)
    assert set(timm_models._data().info("nfnet_l0").accelerator_skips) == skips


def test_a_model_is_in_one_tier_at_most():
    names = [name for tier in _tiers().values() for name in tier]
    assert len(names) == len(set(names))
    assert set(_tiers()) == {1, 2, 3}
