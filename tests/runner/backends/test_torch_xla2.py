"""A module as a JAX function, in real JAX where it is installed beside torchax; what needs neither runs everywhere."""

from dataclasses import replace

import pytest
from runner_makers import config, machine

from runner.backends import backend_of
from runner.environments.machine import detect
from runner.plan.local_request import not_measurable
from runner.workload import Workload

HERE = detect()
MODES = ("extract_jax", "torch_export")
needs_jax = pytest.mark.skipif(
    backend_of("PJRT", None, "extract_jax").unavailable("cpu", HERE) is not None,
    reason=str(backend_of("PJRT", None, "extract_jax").unavailable("cpu", HERE)),
)


def requested_config(mode="extract_jax", **changes):
    return config(**{"xla": "PJRT", "torch_xla2": mode, **changes})


@pytest.mark.parametrize("mode", MODES)
def test_without_torchax_and_jax_the_reason_says_what_to_install(mode):
    backend, plain = backend_of("PJRT", None, mode), machine()
    assert backend.unavailable("cpu", plain) == "torchax is not installed: pip install torchax jax"
    half = replace(plain, packages={**plain.packages, "torchax": "0.0.13"})
    assert backend.unavailable("cpu", half) == "jax is not installed: pip install torchax jax"
    whole = replace(half, packages={**half.packages, "jax": "0.10.2"})
    assert backend.unavailable("cpu", whole) is None
    assert "cuda" in backend.unavailable("cuda", whole)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"test": "train"}, "eval only"),
        ({"dynamo": "openxla"}, "remove --dynamo openxla"),
        ({"dtype": "amp"}, "no autocast"),
        ({}, None),
    ],
)
def test_what_jax_cannot_be_asked_is_said_before(changes, says):
    found = not_measurable(requested_config(**changes))
    assert found is None if says is None else says in found


def test_the_fork_server_never_imports_jax():
    """It would start threads there, and those do not survive a fork."""
    assert not [name for name in backend_of("PJRT", None, "extract_jax").preload if "jax" in name or "torchax" in name]


def test_a_cold_process_has_no_compilation_cache_and_a_warm_one_its_own(tmp_path):
    backend = backend_of("PJRT", None, "extract_jax")
    cold = backend.variables(requested_config(), tmp_path)
    assert (cold["JAX_ENABLE_COMPILATION_CACHE"], cold["JAX_COMPILATION_CACHE_DIR"]) == ("false", "")
    warm = backend.variables(requested_config(cache="warm"), tmp_path)
    assert warm["JAX_COMPILATION_CACHE_DIR"].startswith(str(tmp_path))


def small(torch):
    """Return a module with tied weights, a keyword, a number and a dict among its inputs, and a dict as output."""

    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
            self.second.weight = self.first.weight
            self.norm = torch.nn.BatchNorm1d(4)

        def forward(self, parts, scale, *, rows):
            hidden = self.norm(self.second(torch.relu(self.first(parts["values"]))))
            return {"scaled": hidden * scale, "picked": (hidden[rows], None)}

    torch.manual_seed(0)
    return Workload(
        module=Tied().eval(),
        args=({"values": torch.rand(3, 4)}, 2.0),
        kwargs={"rows": torch.tensor([0, 2])},
        batch_size=3,
        loss=lambda output: output["scaled"].sum(),
        loss_name="sum",
    )


@needs_jax
@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_module_computes_in_jax_what_it_computes_in_torch(mode):
    """Compiled once, called from then on; structures and what is no tensor stay what they are."""
    torch = pytest.importorskip("torch")
    from runner.backends import steps

    work = small(torch)
    with torch.no_grad():
        wanted = work.module(*work.args, **work.kwargs)
    runtime = backend_of("PJRT", None, mode).open(requested_config(mode))
    runtime.place(work)
    step = steps.make_step(work, requested_config(mode), runtime.device)
    before = runtime.counters()
    for _ in range(3):
        output = step(work.args, work.kwargs)
        runtime.after_iteration()
    found, after = runtime.to_host(output), runtime.counters()
    assert torch.allclose(found["scaled"], wanted["scaled"], atol=1e-6)
    assert torch.allclose(found["picked"][0], wanted["picked"][0], atol=1e-6)
    assert found["picked"][1] is None
    assert (after.compiles - before.compiles, after.executions - before.executions) == (1, 3)


@needs_jax
@pytest.mark.slow
def test_inputs_of_the_host_are_brought_to_jax():
    torch = pytest.importorskip("torch")
    import jax

    runtime = backend_of("PJRT", None, "extract_jax").open(requested_config())
    moved = runtime.to_device(({"a": torch.ones(2, dtype=torch.bfloat16)}, 3))
    assert isinstance(moved[0]["a"], jax.Array)
    assert moved[1] == 3
    assert torch.equal(runtime.to_host(moved)[0]["a"], torch.ones(2, dtype=torch.bfloat16))
