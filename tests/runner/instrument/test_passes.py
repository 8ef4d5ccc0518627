"""Which instruments share a process, and what its environment holds."""

from pathlib import Path

import pytest
from runner_makers import PAIRS, config, settings

from runner.instrument.passes import _FAMILIES, SAVE_IR, notes, passes
from runner.instrument.process import TOOLS
from runner.plan.request import INSTRUMENTS

FOLDER = Path("/results/artifacts/x")
ALL = tuple(INSTRUMENTS)


def names(backend, *instruments, failed=False, **fields):
    chosen = settings(instruments=instruments)
    return {each.name: each.instruments for each in passes(config(backend, **fields), chosen, failed=failed)}


@pytest.mark.parametrize("backend", PAIRS)
def test_without_instruments_there_is_no_extra_process(backend):
    assert passes(config(backend), settings(), failed=True) == ()


def test_every_flag_has_a_family_and_a_tool():
    known = [each for members in _FAMILIES.values() for each in members]
    assert sorted(known) == sorted([*ALL, SAVE_IR])
    assert {each for tool in TOOLS for each in tool.names} == set(ALL)


def test_dumps_share_a_process_and_profiles_have_their_own():
    assert names("openxla+dynamo", *ALL) == {
        "dumps": ("dump_hlo", "dump_dynamo_counters", "dump_pytorch_xla_metrics", "save_output"),
        "pytorch-profile": ("dump_pytorch_profiles", "profile_cuda_cpu", "profile_cuda_cpu_individual_ops"),
        "xla-profile": ("profile_xla",),
    }


def test_inductors_debug_output_disturbs_nobody():
    assert names("inductor", *ALL)["inductor-debug"] == ("dump_inductor",)


@pytest.mark.parametrize(
    ("backend", "failed", "minified"),
    [("inductor", True, True), ("inductor", False, False), ("openxla+lazytensor", True, False), ("eager", True, False)],
)
def test_only_what_failed_in_a_compiler_of_dynamo_is_minified(backend, failed, minified):
    assert ("minify" in names(backend, "minify", failed=failed)) == minified


def test_what_makes_no_sense_is_a_note_and_no_process():
    chosen = settings(instruments=(*ALL, "save_ir"), save_ir_format="hlo")
    assert names("eager", "dump_hlo", "memory_snapshot") == {}
    assert notes(config("eager"), chosen) == [
        "dump_hlo: only with an XLA backend",
        "dump_dynamo_counters: only with a backend of dynamo",
        "dump_pytorch_xla_metrics: only with an XLA backend",
        "dump_inductor: only with the backend inductor",
        "profile_xla: only with an XLA backend",
        "memory_snapshot: only on cuda",
        "minify: only with a backend of dynamo",
        "save_ir: only with an XLA backend",
    ]


def test_the_memory_of_cuda_can_be_looked_at():
    assert names("inductor", "memory_snapshot", accelerator="cuda") == {"memory-snapshot": ("memory_snapshot",)}
    assert notes(config(accelerator="cuda"), settings(instruments=("memory_snapshot",))) == []


def test_xla_flags_of_the_experiment_stay_in_force():
    (dumps,) = passes(config("openxla+lazytensor"), settings(instruments=("dump_hlo",)))
    dump = f"--xla_dump_to={FOLDER}/hlo --xla_dump_hlo_as_text"
    assert dumps.variables(config("openxla+lazytensor"), FOLDER) == {"XLA_FLAGS": dump}
    own = config("openxla+lazytensor", xla_flags=("--a=1", "--b"))
    assert dumps.variables(own, FOLDER) == {"XLA_FLAGS": f"--a=1 --b {dump}"}


@pytest.mark.parametrize("form", ["text", "hlo", "stablehlo"])
def test_the_ir_is_saved_in_the_form_asked_for(form):
    (dumps,) = passes(config("openxla+lazytensor"), settings(save_ir_format=form))
    assert dumps.variables(config("openxla+lazytensor"), FOLDER) == {
        "XLA_SAVE_TENSORS_FMT": form,
        "XLA_SAVE_TENSORS_FILE": f"{FOLDER}/ir.{form}",
    }
