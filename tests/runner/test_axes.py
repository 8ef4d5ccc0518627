"""Which variants a request expands to, and which settings reach which backend."""

import pytest
from runner_makers import machine, request

from runner.environments.machine import Machine
from runner.plan import make_plan


@pytest.fixture(autouse=True)
def known_backends(monkeypatch):
    """What the interpreter's dynamo and torch would list; asking it imports torch."""
    monkeypatch.setattr(Machine, "dynamo_backends", lambda _: ("aot_eager", "inductor", "openxla"))
    monkeypatch.setattr(Machine, "aten_ops", lambda _: {"nonzero": False, "item_": False})


ONE = {"models": ("dummy/dummy",), "test": ("eval",)}


def variants(**changes):
    return [entry.variant for entry in make_plan(request(**(ONE | changes)), machine()).entries]


def identities(**changes):
    return {entry.variant: entry.experiment_id for entry in make_plan(request(**(ONE | changes)), machine()).entries}


def test_xla_flags_are_variants_of_the_xla_backends_only():
    found = variants(xla_flags=(("--a=1", "--b"), ()))
    assert found == [
        "eager",
        "inductor",
        "openxla+lazytensor xla_flags=--a=1 xla_flags=--b",
        "openxla+lazytensor",
        "openxla+dynamo xla_flags=--a=1 xla_flags=--b",
        "openxla+dynamo",
    ]


def test_what_is_measured_without_a_fallback_op_stands_beside_the_same_with_it():
    """In one group, so that both take turns; only PyTorch/XLA has such ops."""
    entries = make_plan(request(**ONE, without_fallback=(("nonzero",), ("item_", "nonzero"))), machine()).entries
    assert [entry.variant for entry in entries] == [
        "openxla+lazytensor",
        "openxla+lazytensor without-fallback=nonzero",
        "openxla+lazytensor without-fallback=item_,nonzero",
        "openxla+dynamo",
        "openxla+dynamo without-fallback=nonzero",
        "openxla+dynamo without-fallback=item_,nonzero",
    ]
    assert len({entry.group for entry in entries}) == 1
    plain = identities()
    found = {entry.variant: entry.experiment_id for entry in entries}
    assert found["openxla+dynamo"] == plain["openxla+dynamo"]
    assert len(set(found.values())) == 6


@pytest.mark.parametrize(
    "names",
    [
        ("eager",),
        ("inductor", "openxla+lazytensor"),
        ("openxla+dynamo", "torchscript", "aot_eager"),
        ("eager+dynamo", "torch_xla2+torch_export"),
    ],
)
def test_backends_are_planned_by_their_names(names):
    """Also where no product of `xla` and `dynamo` gives exactly them."""
    entries = make_plan(request(**ONE, backend=names), machine()).entries
    assert tuple(entry.backend for entry in entries) == names


def test_a_backend_by_its_name_is_that_of_its_pair():
    named, paired = identities(backend=("openxla+dynamo",)), identities(xla=("PJRT",), dynamo=("openxla",))
    assert named == paired == identities(backend=("openxla", "openxla+dynamo"))


def test_both_caches_are_planned_where_something_is_compiled():
    assert variants(cache="both") == [
        "eager",
        "inductor",
        "inductor cache=warm",
        "openxla+lazytensor",
        "openxla+lazytensor cache=warm",
        "openxla+dynamo",
        "openxla+dynamo cache=warm",
    ]


def test_a_warm_cache_leaves_eager_as_it_is():
    assert identities(cache="warm")["eager"] == identities()["eager"]


def test_variants_and_caches_of_a_model_are_one_group():
    """They are measured together, under one batch size."""
    entries = make_plan(request(**ONE, cache="both", xla_flags=(("--a",), ())), machine()).entries
    assert len({entry.group for entry in entries}) == 1
    assert len({entry.experiment_id for entry in entries}) == len(entries) == 11


def test_torch_xla2_has_a_backend_name_per_mode():
    entries = make_plan(request(**ONE, torch_xla2=("extract_jax", "torch_export")), machine()).entries
    assert [(entry.backend, entry.config.xla, entry.config.dynamo) for entry in entries] == [
        ("torch_xla2+extract_jax", "PJRT", None),
        ("torch_xla2+torch_export", "PJRT", None),
    ]


def test_torch_xla2_without_xla_is_nothing():
    assert variants(torch_xla2=("extract_jax",), xla=(None,)) == []


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"dynamo": ("inductor",)}, ["inductor", "openxla+lazytensor"]),
        ({"torch_xla2": ("extract_jax",)}, ["torch_xla2+extract_jax", "openxla+lazytensor"]),
        ({"xla": ("PJRT",), "dynamo": (None,)}, ["openxla+lazytensor"]),
    ],
)
def test_the_xla_baseline_is_added_once(asked, found):
    assert variants(use_xla_baseline=True, **asked) == found


def test_the_xla_baseline_is_not_planned_on_cuda():
    here = machine(accelerators={"cpu": "Example CPU", "cuda": "Example GPU"})
    asked = request(**ONE, accelerator=("cuda",), dynamo=("inductor",), use_xla_baseline=True)
    assert [entry.backend for entry in make_plan(asked, here).entries] == ["inductor"]


@pytest.mark.parametrize(
    ("name", "xla"),
    [("aot_eager", None), ("torchxla_trivial", "PJRT"), ("torchxla_trace_once", "PJRT"), ("openxla_eval", "PJRT")],
)
def test_another_dynamo_backend_is_planned_once_on_the_device_that_it_runs_on(name, xla):
    (entry,) = make_plan(request(**ONE, dynamo=(name,)), machine()).entries
    assert (entry.backend, entry.config.dynamo, entry.config.xla) == (name, name, xla)


def test_compile_settings_reach_only_the_compilers_that_know_them():
    """Eager stays one baseline for all modes; `mode` belongs to inductor."""
    asked = {"compile_mode": "max-autotune", "dynamic_shapes": True, "cudagraphs": True}
    found = variants(requested=asked, dynamo=(None, "inductor", "openxla", "aot_eager"))
    assert found == [
        "eager",
        "inductor mode=max-autotune cudagraphs dynamic",
        "openxla+lazytensor",
        "openxla+dynamo dynamic",
        "aot_eager dynamic",
    ]


def test_overrides_reach_only_those_that_read_them():
    asked = {"overrides": {"inductor.max_autotune": "True", "dynamo.cache_size_limit": "2"}}
    assert variants(requested=asked) == [
        "eager",
        "inductor dynamo.cache_size_limit=2 inductor.max_autotune=True",
        "openxla+lazytensor",
        "openxla+dynamo dynamo.cache_size_limit=2",
    ]


def test_a_setting_that_a_backend_does_not_know_leaves_its_identity():
    asked = {"compile_mode": "max-autotune", "freezing": True, "fullgraph": True, "keep_model_data_on_cuda": True}
    before, after = identities(), identities(requested=asked | {"overrides": {"inductor.x": "1"}})
    assert after["eager"] == before["eager"]
    assert after["openxla+lazytensor"] == before["openxla+lazytensor"]
    assert set(after) - set(before) == {
        "inductor mode=max-autotune fullgraph freezing inductor.x=1",
        "openxla+dynamo fullgraph keep-model-data-on-cuda",
    }


@pytest.mark.parametrize("name", ["disable_tf32", "randomize_input", "include_transfers"])
def test_a_setting_of_the_step_itself_reaches_every_backend(name):
    before, after = identities(), identities(requested={name: True})
    assert set(before.values()).isdisjoint(after.values())
    assert len(after) == len(before) == 4


def test_loss_and_optimizer_are_settings_of_train():
    asked = {"loss": "sum", "optimizer": "SGD", "collect_full_output": True}
    assert identities(requested=asked) == identities()
    (entry,) = make_plan(
        request(models=("dummy/dummy",), test=("train",), xla=(None,), dynamo=(None,), requested=asked), machine()
    ).entries
    assert (entry.config.loss, entry.config.optimizer, entry.config.collect_full_output) == ("sum", "SGD", True)
