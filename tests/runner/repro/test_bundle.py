"""One file from many modules: whole, and with nothing of ours left to import."""

import inspect
import re
import subprocess
import sys

import pytest

from runner.repro.bundle import bundle
from runner.repro.parts import faults, wrong_answer
from runner.repro.subject import of_record
from runner.settings import OwnModel
from runner.suites import get_suite
from runner.suites.base import BuildRequest
from runner.suites.own.script import source as own_source
from tests.tiers import first_of

PARTS = (
    "dies", "fallback_model", "fallback_op", "graph_break", "graph_break_model", "minified", "raises", "wrong_answer",
)  # fmt: skip
MODELS = (
    ("dummy", "dummy"), ("dummy", "dummy_nonzero"), ("timm_models", "resnet10t"), ("timm_models", "test_vit2"),
    ("huggingface", "BertTiny"), ("huggingface", "LlamaForCausalLM_tiny"),
)  # fmt: skip
PROGRAM = "class Repro: pass\nmod = Repro()\ndef load_args(reader): pass\n"


def source(suite, model, test="eval", loss=None):
    asked = BuildRequest(model_name=model, test=test, accelerator="cpu", batch_size=None, seed=7, loss=loss)
    return get_suite(suite).source(asked).text


def undefined(script):
    """Return what a linter says of names that nobody defines."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821,F811,E9", "--quiet", "-"]
    return subprocess.run(command, input=script, capture_output=True, text=True, check=False).stdout


def test_every_candidate_is_a_part_tested_here():
    """A part that no test bundles would fail in front of a user."""
    entries = {
        name
        for module in (faults, wrong_answer)
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not inspect.signature(value).parameters
    }
    assert entries - {"be_deterministic"} == set(PARTS)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_becomes_a_whole_program(part):
    raw = PROGRAM if part == "minified" else ""
    script = "from __future__ import annotations\n" + bundle(part, source("dummy", "dummy_nonzero"), raw)
    assert "runner." not in script
    assert undefined(script) == ""
    assert script.rstrip().endswith(f"run({part})")


@pytest.mark.parametrize(("suite", "model"), MODELS)
@pytest.mark.parametrize("loss", first_of(["sum", None]))
def test_a_model_of_a_packaged_suite_needs_nothing_of_ours(suite, model, loss):
    script = "from __future__ import annotations\n" + bundle("wrong_answer", source(suite, model, "train", loss))
    assert "runner." not in script
    assert undefined(script) == ""


@pytest.mark.parametrize(
    ("form", "name", "content"),
    [
        ("file", "net.py", "import torch\n\nnet = torch.nn.Linear(2, 2)\n"),
        ("exported", "net.pt2", "program"),
        ("transformers", "config.json", '{"model_type": "bert"}'),
        ("torchvision", "resnet18", ""),
    ],
)
def test_a_model_of_ones_own_needs_nothing_of_ours(form, name, content, tmp_path):
    place = name if form == "torchvision" else str(tmp_path / name)
    if content:
        (tmp_path / name).write_text(content)
    own = OwnModel(name=name, form=form, place=place, attribute="net", sha256="0" * 64)
    asked = BuildRequest(model_name=name, test="eval", accelerator="cpu", batch_size=2, seed=7)
    script = "from __future__ import annotations\n" + bundle("raises", own_source(own, asked, None).text)
    assert "runner." not in script
    compile(script, "script", "exec")
    only_annotated = {"BuildRequest", "OwnModel", "Weights"}
    assert set(re.findall(r"Undefined name `(\w+)`", undefined(script))) <= only_annotated


def test_values_that_are_given_replace_the_usual_ones():
    script = bundle("fallback_op", "OP = 'aten::nonzero'\n")
    assert "OP = 'aten::nonzero'" in script
    assert "ENVIRONMENT: dict[str, str] = {}" in script


def test_two_things_of_one_name_are_refused():
    """The judge has a constant of the name."""
    with pytest.raises(ValueError, match="COSINE is defined in"):
        bundle("wrong_answer", "COSINE = 1\n\n\ndef build():\n    return COSINE\n")


def record(**experiment):
    return {
        "model": {"suite_name": "dummy", "model_name": "dummy"},
        "experiment": {"accelerator": "cpu", "test": "eval", "dynamo": "inductor", **experiment},
        "reproduce": "xlabench run --seed=7 --tolerance=0.5 --cosine",
    }


def test_a_record_says_how_it_was_measured():
    subject = of_record(
        record(freezing=True, dynamic_shapes=True, fullgraph=True, overrides={"inductor.max_autotune": "True"})
    )
    values = subject.values()
    assert values["OVERRIDES"] == {"inductor.freezing": True, "inductor.max_autotune": True}
    assert values["COMPILE"] == {"fullgraph": True, "dynamic": True}
    assert (values["SEED"], values["DEVICE"], values["ENVIRONMENT"]) == (7, "cpu", {})
    assert subject.judging()["TOLERANCE"] == 0.5
    assert subject.judging()["BY_COSINE"] is True


def test_a_record_on_xla_names_its_variables():
    subject = of_record(record(xla="PJRT", dynamo=None, xla_flags="--xla_a=1", enable_functionalization=False))
    assert subject.device == "xla"
    assert subject.values()["ENVIRONMENT"] == {
        "PJRT_DEVICE": "CPU", "XLA_FLAGS": "--xla_a=1", "XLA_DISABLE_FUNCTIONALIZATION": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    "experiment",
    [
        {"overrides": {"inductor.cpp.cxx": "/tmp/evil.sh"}},
        {"overrides": {"os.system": "x"}},
        {"test": "neither"},
        {"accelerator": "abacus"},
        {"torch_xla2": "torch_xla2"},
    ],
)  # fmt: skip
def test_a_record_that_no_script_may_follow_is_refused(experiment):
    from store.errors import UsageError

    with pytest.raises(UsageError):
        of_record(record(**experiment))


def test_a_script_has_no_other_part():
    """A local variable with the name of a part would bring that part along."""
    for part in PARTS:
        others = [other for other in PARTS if other != part and f"def {other}(" in bundle(part, "", PROGRAM)]
        assert others == [], part
