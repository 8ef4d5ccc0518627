"""What a request expands to, and why an experiment is skipped."""

import io
import re
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runner_makers import config, ended, entry, facts, machine, plan, request

from runner.plan import make_plan, missing_packages, source_versions
from runner.plan.local_request import make_entry
from runner.plan.plan_view import print_matrix
from runner.schedule.records import make_record
from runner.suites import suite_names
from runner.suites.base import ForcedDtype, ModelInfo

FOUR = ["eager", "inductor", "openxla+lazytensor", "openxla+dynamo"]
GOLDEN = {
    ("eval", "eager"): "dc5d2016bbf8548b4c84",
    ("eval", "inductor"): "f8e193a59628f4894497",
    ("eval", "openxla+lazytensor"): "ce9ae7b2a39be1605794",
    ("eval", "openxla+dynamo"): "a0a09e84d3af6c98f599",
    ("train", "eager"): "923b10c460f9d8618047",
    ("train", "inductor"): "2726ba91d5b2ab764c1a",
    ("train", "openxla+lazytensor"): "ff4d18e8eb64aac52886",
    ("train", "openxla+dynamo"): "d5744d2d71dabb864a6b",
}


def planned(here=None, **changes):
    return make_plan(request(**changes), here or machine()).entries


def reasons(here, backend, **changes):
    return {each.skip_reason for each in planned(here, **changes) if each.backend == backend}


def test_two_models_without_filters_give_sixteen_experiments():
    """Two models, two tests, four backends: each combination once, all runnable."""
    entries = planned(accelerator=("cpu",))
    assert len(entries) == 16
    assert len({each.experiment_id for each in entries}) == 16
    assert all(each.runnable for each in entries)
    assert Counter(each.backend for each in entries) == dict.fromkeys(FOUR, 4)


def test_without_an_accelerator_all_of_the_machine_are_planned():
    here = machine(accelerators={"cpu": "Example CPU", "cuda": "Example GPU"})
    assert Counter(each.config.accelerator for each in planned(here)) == {"cpu": 16, "cuda": 8}


def test_entries_keep_the_order_of_measuring():
    """Model by model, test by test, the four backends side by side."""
    entries = planned()
    assert [(each.config.model_name, each.config.test) for each in entries[::4]] == [
        ("dummy", "eval"),
        ("dummy", "train"),
        ("dummy_nonzero", "eval"),
        ("dummy_nonzero", "train"),
    ]
    assert [each.backend for each in entries] == FOUR * 4


@pytest.mark.parametrize(
    ("accelerator", "left"),
    [("cpu", FOUR), ("cuda", ["eager", "inductor"]), ("tpu", ["openxla+lazytensor", "openxla+dynamo"])],
)
def test_invalid_combinations_are_left_out(accelerator, left):
    """XLA has no CUDA any more, a TPU no eager device; nobody runs inductor on XLA or openxla without."""
    here = machine(accelerators={"cpu": "Example CPU", accelerator: "Example"})
    entries = planned(here, accelerator=(accelerator,), models=("dummy/dummy",), test=("eval",))
    assert [each.backend for each in entries] == left
    assert ("PJRT", "inductor") not in {(each.config.xla, each.config.dynamo) for each in entries}


@pytest.mark.parametrize(
    ("flags", "backends"),
    [
        ({"xla": (None,)}, {"eager", "inductor"}),
        ({"xla": ("PJRT",)}, {"openxla+lazytensor", "openxla+dynamo"}),
        ({"dynamo": (None,)}, {"eager", "openxla+lazytensor"}),
        ({"dynamo": ("inductor",)}, {"inductor"}),
        ({"dynamo": ("inductor", "openxla")}, {"inductor", "openxla+dynamo"}),
        ({"xla": (None, "PJRT"), "dynamo": (None,)}, {"eager", "openxla+lazytensor"}),
        ({"xla": ("PJRT",), "dynamo": ("inductor",)}, set()),
    ],
)
def test_each_backend_axis_narrows_the_plan(flags, backends):
    assert {each.backend for each in planned(**flags)} == backends


def test_test_and_batch_size_and_model_narrow_or_mark_the_plan():
    entries = planned(test=("train",), models=("dummy/dummy",), batch_size=8)
    assert {(each.config.test, each.config.model_name, each.config.batch_size) for each in entries} == {
        ("train", "dummy", 8)
    }
    assert len(entries) == 4


def test_an_exact_model_of_another_suite_selects_nothing():
    assert planned(models=("timm_models/dummy",)) == ()


@pytest.mark.parametrize(
    ("flags", "models"),
    [
        ({"filter": ("NONZERO",)}, {"dummy_nonzero"}),
        ({"filter": ("^dummy$",)}, {"dummy"}),
        ({"filter": ("^dummy$", "Zero$")}, {"dummy", "dummy_nonzero"}),
        ({"exclude": ("NonZero",)}, {"dummy"}),
        ({"exclude": ("^dummy$", "zero")}, set()),
        ({"filter": ("zero",), "exclude": ("dummy",)}, set()),
        ({"filter": ("(?i)ZERO", "(?i)nonz")}, {"dummy_nonzero"}),
    ],
)
def test_filters_search_the_model_name_ignoring_case(flags, models):
    """Several are alternatives, each a regular expression of its own; exclusion wins."""
    assert {each.config.model_name for each in planned(**flags)} == models


def test_without_torch_everything_is_skipped_with_the_extra_to_install():
    found = {each.skip_reason for each in planned(machine(without=("torch", "torch_xla")))}
    assert found == {"torch is not installed in this environment; install the extra `runner` (or `xla`)"}


def test_without_torch_xla_the_reason_names_the_torch_version():
    here = machine(without=("torch_xla",))
    assert reasons(here, "eager") == reasons(here, "inductor") == {None}
    assert reasons(here, "openxla+lazytensor") == reasons(here, "openxla+dynamo")
    (reason,) = reasons(here, "openxla+dynamo")
    assert "torch_xla is not installed for torch 2.9.1" in reason


@pytest.mark.parametrize(
    ("lack", "word"),
    [({"compiler": None}, "g++"), ({"python_header": False}, "Python.h"), ({"setuptools": False}, "setuptools")],
)
def test_inductor_on_the_cpu_needs_a_toolchain(lack, word):
    """Only inductor is skipped, and only on the CPU."""
    here = machine(accelerators={"cpu": "Example CPU", "cuda": "Example GPU"}, **lack)
    (reason,) = reasons(here, "inductor", accelerator=("cpu",))
    assert word in reason
    assert reasons(here, "inductor", accelerator=("cuda",)) == {None}
    assert reasons(here, "eager") == reasons(here, "openxla+lazytensor") == {None}


def test_an_accelerator_that_is_missing_is_a_reason():
    found = {each.skip_reason for each in planned(accelerator=("cuda",))}
    assert found == {"this machine has no cuda device: nvidia-smi lists none"}


def test_a_model_is_skipped_in_the_test_that_its_suite_names(monkeypatch):
    models = [ModelInfo(name="one", skips={"train": "has no loss"}), ModelInfo(name="two")]
    monkeypatch.setattr("runner.suites.dummy.DummySuite.models", lambda *_: models)
    skipped = {(each.config.model_name, each.config.test, each.skip_reason) for each in planned() if not each.runnable}
    assert skipped == {("one", "train", "has no loss")}


def test_a_models_own_reason_comes_before_the_machines(monkeypatch):
    models = [ModelInfo(name="one", skips={"eval": "too large"})]
    monkeypatch.setattr("runner.suites.dummy.DummySuite.models", lambda *_: models)
    found = {each.skip_reason for each in planned(machine(without=("torch",)), test=("eval",))}
    assert found == {"too large"}


def test_experiment_ids_do_not_change():
    """A change here makes all history unfindable: it has to be meant."""
    entries = planned(models=("dummy/dummy",))
    assert {(each.config.test, each.backend): each.experiment_id for each in entries} == GOLDEN


def test_identity_is_the_same_on_another_machine():
    """What cannot run here is the same experiment as where it can."""
    bare = machine(without=("torch", "torch_xla"), compiler=None)
    assert [each.experiment_id for each in planned(bare)] == [each.experiment_id for each in planned()]


@pytest.mark.parametrize("changes", [{"batch_size": 8}, {"preset": "peer"}, {"preset": "hud"}])
def test_identity_changes_with_the_requested_configuration(changes):
    before = {each.experiment_id for each in planned(test=("eval",))}
    assert before.isdisjoint(each.experiment_id for each in planned(test=("eval",), **changes))


def test_plan_id_changes_when_a_skip_changes():
    entries = [entry("eager"), entry("inductor")]
    one = plan(*entries).plan_id
    assert plan(*entries).plan_id == one
    assert plan(entries[0], entry("inductor", skip="no g++")).plan_id != one
    assert plan(entries[0]).plan_id != one


def test_plan_id_does_not_hang_on_the_wording_of_a_reason():
    assert plan(entry(skip="no g++")).plan_id == plan(entry(skip="no compiler")).plan_id


def test_a_group_holds_all_variants_of_one_model_and_test():
    """They are measured together; what must be equal for a comparison stands in the group's name."""
    groups = Counter(each.group for each in planned(batch_size=4))
    assert groups == {
        f"dummy/{model}/{test}/float32/4/cpu": 4 for model in ("dummy", "dummy_nonzero") for test in ("eval", "train")
    }


def test_the_preset_peer_reaches_config_and_variant():
    """Its eval is bfloat16 in torchbench only; train steps Adam; functionalization is off where XLA runs."""
    entries = {each.backend: each for each in planned(preset="peer", test=("train",), models=("dummy/dummy",))}
    fields = {(each.config.dtype, each.config.optimizer, each.config.matmul_precision) for each in entries.values()}
    assert fields == {("float32", "Adam", "high")}
    assert entries["openxla+lazytensor"].variant == "openxla+lazytensor no-functionalization"
    assert entries["inductor"].variant == "inductor"


def test_a_suite_that_is_missing_is_told_and_the_others_are_planned(monkeypatch):
    monkeypatch.setattr("runner.suites.timm_models.SUITE.unavailable", lambda _: "install timm", raising=True)
    made = make_plan(request(suite_name=("timm_models", "dummy")), machine())
    assert made.missing_suites == {"timm_models": "install timm"}
    assert {each.config.suite_name for each in made.entries} == {"dummy"}


def test_no_suite_named_means_all_of_them(monkeypatch):
    asked = []
    for module in ("runner.plan.selection", "runner.plan.expand"):
        monkeypatch.setattr(f"{module}.get_suite", lambda name: asked.append(name) or Nothing())
    make_plan(request(suite_name=()), machine())
    source_versions(request(suite_name=()))
    assert asked == [*suite_names(), *suite_names()]


class Nothing:
    def unavailable(self, context):
        return "not here"

    def versions(self, context):
        return {}


def test_planning_imports_no_torch():
    """Neither torch nor what needs it is loaded by `xlabench plan` over every suite."""
    code = (
        "import sys, xlabench; xlabench.main(['plan', '--format', 'json', '--accelerator', 'cpu']);"
        "print('LOADED', sorted({name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(re.findall(r"'([^']+)'", done.stdout.rpartition("LOADED")[2]))
    assert "runner" in loaded
    assert not loaded & {"torch", "torch_xla", "torchvision", "timm", "transformers", "functorch", "triton"}


@given(total=st.integers(1, 9))
def test_partitions_differ_by_at_most_one_model_and_lose_none(total):
    """Every experiment is in exactly one part, and the variants of a model stay together."""
    suites = ("timm_models", "huggingface")
    whole = make_plan(request(suite_name=suites), machine()).entries
    parts = [
        make_plan(request(suite_name=suites, total_partitions=total, partition_id=part), machine()).entries
        for part in range(total)
    ]
    assert sorted(entry.experiment_id for part in parts for entry in part) == sorted(
        entry.experiment_id for entry in whole
    )
    sizes = [len({(entry.config.suite_name, entry.config.model_name) for entry in part}) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert len({entry.group for part in parts for entry in part}) == sum(
        len({entry.group for entry in part}) for part in parts
    )


def test_a_requested_field_wins_over_the_preset():
    entries = planned(preset="peer", requested={"dtype": "float32", "enable_functionalization": True})
    assert {entry.config.dtype for entry in entries} == {"float32"}
    assert {entry.config.enable_functionalization for entry in entries} == {True}


def test_fullgraph_is_measured_in_train_too():
    """There it holds for forward and loss."""
    found = {(entry.config.test, entry.backend): entry for entry in planned(requested={"fullgraph": True})}
    assert {each.skip_reason for each in found.values()} == {None}
    assert found["train", "inductor"].variant == "inductor fullgraph"


def test_freezing_is_skipped_in_train_under_inductor_only():
    found = {(entry.config.test, entry.backend): entry.skip_reason for entry in planned(requested={"freezing": True})}
    assert found["eval", "inductor"] is None
    assert found["train", "eager"] is None
    assert "freezing" in found["train", "inductor"]


TABLED = ModelInfo(
    name="one",
    skips={"train": "has no loss"},
    accelerator_skips={"cuda": "too large"},
    backend_skips={"openxla+lazytensor": "too slow"},
    freezing_skips={"cpu": "folds badly"},
    dtypes=(ForcedDtype(instead_of=("float16", "bfloat16"), use="amp", reason="overflows"),),
    no_cudagraphs="flaky",
)


@pytest.fixture
def tabled(monkeypatch):
    """The suite `dummy` with one model that every table names."""
    monkeypatch.setattr("runner.suites.dummy.DummySuite.models", lambda *_: [TABLED])


BOTH = {"cpu": "Example CPU", "cuda": "Example GPU"}


@pytest.mark.usefixtures("tabled")
def test_skips_by_test_accelerator_and_backend_carry_their_reasons():
    found = {
        (each.config.test, each.config.accelerator, each.backend): each.skip_reason
        for each in planned(machine(accelerators=BOTH))
    }
    assert found["eval", "cpu", "eager"] is None
    assert found["eval", "cpu", "openxla+lazytensor"] == "too slow"
    assert found["eval", "cuda", "inductor"] == "too large"
    assert found["train", "cuda", "inductor"] == "has no loss"


@pytest.mark.usefixtures("tabled")
def test_a_freezing_skip_counts_where_parameters_are_folded():
    found = {each.backend: each.skip_reason for each in planned(test=("eval",), requested={"freezing": True})}
    assert (found["inductor"], found["eager"]) == ("folds badly", None)


@pytest.mark.usefixtures("tabled")
def test_no_skip_measures_what_tables_skip_and_keeps_what_the_environment_lacks():
    assert all(each.runnable for each in planned(no_skip=True))
    found = {each.skip_reason for each in planned(machine(compiler=None), no_skip=True)}
    assert found == {None, "inductor needs a C++ compiler on the CPU: install g++ (or set CXX)"}


def test_a_model_that_cannot_be_built_here_is_skipped_under_no_skip_too(monkeypatch):
    monkeypatch.setattr("runner.suites.dummy.DummySuite.models", lambda *_: [ModelInfo(name="old", missing="gone")])
    assert {each.skip_reason for each in planned(no_skip=True)} == {"gone"}


@pytest.mark.usefixtures("tabled")
def test_a_forced_dtype_holds_for_the_whole_group_and_is_said():
    entries = planned(test=("eval",), requested={"dtype": "bfloat16", "amp_dtype": "float16"})
    assert {(each.config.dtype, each.config.amp_dtype) for each in entries} == {("amp", "float16")}
    assert len({each.group for each in entries}) == 1
    assert {each.notes for each in entries} == {("amp in place of bfloat16: one: overflows",)}


@pytest.mark.usefixtures("tabled")
def test_a_dtype_that_the_model_can_run_in_stays():
    entries = planned(test=("eval",), requested={"dtype": "float32", "amp_dtype": "float16"})
    assert {(each.config.dtype, each.config.amp_dtype, each.notes) for each in entries} == {("float32", None, ())}


@pytest.mark.usefixtures("tabled")
def test_a_model_without_cudagraphs_says_so_where_they_are_asked_for():
    entries = planned(machine(accelerators=BOTH), accelerator=("cuda",), preset="hud", test=("train",))
    found = {each.backend: (each.config.cudagraphs, each.notes) for each in entries}
    assert found == {"eager": (False, ()), "inductor": (False, ("without CUDA graphs: one: flaky",))}


def test_a_mode_without_effect_on_the_cpu_says_so():
    """Only inductor has modes."""
    here = machine(accelerators=BOTH)
    for accelerator, noted in (("cpu", True), ("cuda", False)):
        entries = planned(here, accelerator=(accelerator,), requested={"compile_mode": "reduce-overhead"})
        found = {each.backend: bool(each.notes) for each in entries if each.backend in ("eager", "inductor")}
        assert found == {"eager": False, "inductor": noted}, accelerator


@pytest.mark.usefixtures("tabled")
@pytest.mark.parametrize(
    ("mode", "without"),
    [
        ("max-autotune", "max-autotune-no-cudagraphs"),
        ("max-autotune-no-cudagraphs", "max-autotune-no-cudagraphs"),
        ("reduce-overhead", "default"),
        ("default", "default"),
    ],
)
def test_a_model_without_cudagraphs_has_no_mode_that_turns_them_on(mode, without):
    asked = {"accelerator": ("cuda",), "preset": "hud", "test": ("train",), "dynamo": ("inductor",)}
    (entry,) = planned(machine(accelerators=BOTH), xla=(None,), requested={"compile_mode": mode}, **asked)
    assert (entry.config.cudagraphs, entry.config.compile_mode) == (False, without)


def test_the_note_of_an_entry_is_a_warning_of_its_record():
    noted = make_entry(config(), "default", None, ("amp in place of bfloat16: one: overflows",))
    made = make_record(noted, facts(), ended())
    assert made.warnings[0] == "amp in place of bfloat16: one: overflows"


def test_the_matrix_shows_what_the_tables_changed(monkeypatch):
    monkeypatch.setattr("runner.suites.dummy.DummySuite.models", lambda *_: [TABLED])
    stream = io.StringIO()
    print_matrix(make_plan(request(requested={"dtype": "float16"}), machine()), stream)
    assert stream.getvalue().count("changed: amp in place of float16: one: overflows") == 1


def test_missing_packages_are_named_all_at_once_for_runnable_models(monkeypatch):
    models = [ModelInfo(name="a"), ModelInfo(name="b"), ModelInfo(name="c", skips={"eval": "no", "train": "no"})]
    monkeypatch.setattr("runner.suites.dummy.DummySuite.models", lambda *_: models)
    lacking = {"a": ["onnx"], "b": ["cv2", "matplotlib"], "c": ["gym"]}
    monkeypatch.setattr(
        "runner.suites.dummy.DummySuite.missing_packages",
        lambda _, context, names: {name: lacking[name] for name in names},
        raising=False,
    )
    asked = request()
    [sentence] = missing_packages(make_plan(asked, machine()), asked)
    assert sentence.startswith("dummy needs packages that are not installed: a: onnx; b: cv2, matplotlib. ")
    assert sentence.endswith("Install them: pip install onnx opencv-python matplotlib")


def test_nothing_is_said_where_no_package_is_missing():
    asked = request()
    assert missing_packages(make_plan(asked, machine()), asked) == []
