"""Models that timm and transformers have and our tables do not: found without importing them, built offline."""

import subprocess
import sys

import pytest

from runner.suites import get_suite
from runner.suites.base import SuiteContext, UnknownModelError
from tests.command import ROOT
from tests.needs import need
from tests.tiers import first_of

torch = pytest.importorskip("torch")
need("timm")
need("transformers")

BUILT = [
    ("timm_models", "resnet14t.c3_in1k"),
    ("huggingface", "MobileBertModel"),
    ("huggingface", "ResNetForImageClassification"),
    ("huggingface", "BlenderbotSmallModel"),
    ("timm_models", "convnext_atto"),
    ("huggingface", "MobileBertForTokenClassification"),
    ("huggingface", "MobileViTModel"),
]


@pytest.mark.parametrize(("suite", "model"), first_of(BUILT, 2))
def test_it_is_planned_and_trains(suite, model, request_for, step):
    """With random weights, its own input size and, where it has no loss, the sum of its outputs."""
    assert get_suite(suite).unlisted(SuiteContext(), model).name == model
    workload = get_suite(suite).build(request_for(model, "train", batch_size=2))
    assert torch.isfinite(step(workload, "train"))
    assert any(weight.grad is not None for weight in workload.module.parameters())


@pytest.mark.parametrize(("suite", "model"), [("timm_models", "convnext_atom"), ("huggingface", "org/no-such-model")])
def test_what_nobody_has_is_unknown(suite, model, request_for):
    """Names of the hub need a network."""
    assert get_suite(suite).unlisted(SuiteContext(), model) is None
    with pytest.raises(UnknownModelError):
        get_suite(suite).build(request_for(model))


def test_a_class_whose_inputs_are_not_known_says_so(request_for):
    with pytest.raises(ValueError, match="The inputs of ViTMAEForPreTraining are not known"):
        get_suite("huggingface").build(request_for("ViTMAEForPreTraining"))


def test_the_names_are_those_that_timm_registers():
    """Read, not imported: planning needs no torch."""
    script = "from runner.suites import data; import sys; data.timm_models(); print('torch' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"
    import timm

    from runner.suites import data

    assert data.timm_models() >= set(timm.list_models())
