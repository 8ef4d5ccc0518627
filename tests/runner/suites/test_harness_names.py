"""Every name of the TorchDynamo harness's lists, old and new, can be asked for and builds without a network.

Those of Hugging Face are built in test_huggingface.py.
"""

import warnings
from pathlib import Path

import pytest
import yaml

from runner.suites import get_suite
from runner.suites.base import SuiteContext
from tests.tiers import first_of

NAMES = yaml.safe_load(Path(__file__).with_name("harness_names.yaml").read_text())
HUGGINGFACE, GONE, TIMM = NAMES["huggingface"], NAMES["gone_from_transformers"], NAMES["timm_models"]


def spellings(suite):
    """Return every spelling of a model, with the name it has here."""
    infos = get_suite(suite).models(SuiteContext())
    return {spelling: info.name for info in infos for spelling in (info.name, *info.aliases)}


@pytest.mark.parametrize(("suite", "names"), [("huggingface", HUGGINGFACE + GONE), ("timm_models", TIMM)])
def test_every_name_of_the_harness_can_be_asked_for(suite, names):
    assert not set(names) - set(spellings(suite))


def test_todays_names_of_the_harness_are_ours():
    """So a record can be held against theirs by name; CamemBert is no class of transformers."""
    ours = spellings("timm_models")
    assert {name for name in TIMM if ours[name] != name} == set()
    ours = spellings("huggingface")
    assert {name for name in HUGGINGFACE if ours[name] != name} == {"CamemBert"}


@pytest.mark.slow
@pytest.mark.parametrize("name", first_of(TIMM))
def test_a_timm_name_builds_without_a_network(name, no_network):
    torch, _ = pytest.importorskip("torch"), pytest.importorskip("timm")
    from runner.suites.timm_models import _data, create

    model = _data().models[spellings("timm_models")[name]]
    with torch.device("meta"), warnings.catch_warnings():
        # A name that timm has renamed would be warned of.
        warnings.simplefilter("error", UserWarning)
        built = create(model.create or name, "random", 1)
    assert built.notes == []
    assert sum(parameter.numel() for parameter in built.module.parameters()) > 1e6
