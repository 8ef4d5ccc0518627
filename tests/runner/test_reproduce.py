"""The command in a record gives its experiment again, whatever was asked for."""

import functools
import shlex
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from runner_makers import entry, machine, settings

import xlabench
from runner import flags
from runner.plan import make_plan, protocol
from runner.plan.local_request import make_entry
from runner.plan.protocol import settings as settings_of
from runner.plan.request import INSTRUMENTS
from runner.schedule.records import make_record, reproduce
from runner.settings import Settings
from store.record import ExperimentConfig

ONE = ["run", "--suite-name", "dummy", "--only", "dummy/dummy"]
RELU = (
    '{"torch.relu": {"input_data_generator": "PyTorch:DefaultDataGenerator", "config": [{"input": '
    '[{"args": [{"type": "tensor", "dtype": "float", "shape": [2]}]}]}]}}'
)
FIELDS = {
    "suite_name": [],
    "model_name": [],
    "test": ["--test", "train"],
    "accelerator": ["--accelerator", "cuda"],
    "xla": ["--xla", "PJRT"],
    "dynamo": ["--dynamo", "inductor"],
    "torch_xla2": ["--torch-xla2", "extract_jax"],
    "batch_size": ["--batch-size", "8"],
    "dtype": ["--dtype", "float16"],
    "amp_dtype": ["--dtype", "amp", "--amp-dtype", "float16"],
    "xla_flags": ["--xla-flags", "--one=1 --two='a b'", "--xla-flags", "None"],
    "without_fallback": ["--without-fallback", "nonzero,masked_select"],
    "enable_functionalization": ["--preset", "peer"],
    "keep_model_data_on_cuda": ["--keep-model-data-on-cuda"],
    "disable_tf32": ["--disable-tf32"],
    "weights": ["--weights", "pretrained"],
    "randomize_input": ["--randomize-input"],
    "collect_full_output": ["--collect-full-output"],
    "include_transfers": ["--include-transfers"],
    "pure_wall_time": ["--pure-wall-time"],
    "optimizer": ["--with-optimizer", "Adam"],
    "loss": ["--loss", "sum"],
    "matmul_precision": ["--matmul-precision", "high"],
    "compile_mode": ["--compile-mode", "max-autotune"],
    "cudagraphs": ["--preset", "hud", "--accelerator", "cuda"],
    "dynamic_shapes": ["--dynamic-shapes"],
    "dynamic_batch_only": ["--dynamic-shapes", "--dynamic-batch-only"],
    "fullgraph": ["--fullgraph"],
    "freezing": ["--freezing"],
    "cache": ["--cache", "both"],
    "operator": ["--suite-name", "operators", "--config", RELU, "--only", "operators/torch.relu(float[2])"],
    "overrides": ["--inductor-config", "triton.unique_kernel_names=True", "--dynamo-config", "cache_size_limit=3"],
}
"""Flags that give each field of a configuration another value than its default."""
OF_OWN_MODELS = {"source"}
"""They come back where the file is: tests/test_own_models.py."""
AGAINST_THE_PRESET = {
    "no optimizer": ["--preset", "peer", "--test", "train", "--no-optimizer"],
    "functionalization": ["--preset", "peer", "--enable-functionalization"],
    "no CUDA graphs": ["--preset", "hud", "--accelerator", "cuda", "--disable-cudagraphs"],
    "dtype": ["--preset", "hud", "--dtype", "float32"],
    "precision": ["--preset", "peer", "--matmul-precision", "highest"],
}
PROTOCOL = {
    "preset": ["--preset", "peer"],
    "repeat": ["--repeat", "4"],
    "until_stable": ["--until-stable", "0.7%"],
    "time_budget_s": ["--until-stable", "--time-budget", "7.5"],
    "processes": ["--processes", "2"],
    "interleave": ["--interleave", "rounds"],
    "rounds": ["--rounds", "2"],
    "rewarm": ["--rewarm", "0"],
    "iterations_per_run": ["--iterations-per-run", "3"],
    "warmup_min": ["--warmup-min", "3"],
    "warmup_max": ["--warmup-max", "9"],
    "timeout_s": ["--subprocess-timeout", "60"],
    "threads": ["--threads", "1"],
    "seed": ["--seed", "7"],
    "start": ["--start", "interpreter"],
    "device_index": ["--device-index", "0"],
    "wait_quiet": ["--no-wait-quiet"],
    "raise_priority": ["--own-priority"],
    "memory_limit_bytes": ["--memory-limit", "1.5G"],
    "verify": ["--verify-only"],
    "verify_iterations": ["--verify", "--verify-iterations", "2"],
    "tolerance": ["--tolerance", "1e-3"],
    "cosine": ["--cosine"],
    "instruments": ["--dump-hlo", "--save-output", "--profile-xla"],
    "save_ir_format": ["--save-ir-format", "hlo"],
    "profile_xla_duration_ms": ["--profile-xla-duration-ms", "70"],
    "artifact_limit_bytes": ["--artifact-limit", "10M"],
    "collect_dynamo_counters": ["--collect-dynamo-counters"],
}
WITHOUT_A_FLAG = {"steady_blocks", "quiet", "prove"}
OF_A_WHOLE_RUN = {"purpose", "twins", "until_verdict", "time_budget_s"}
"""They say what is measured beside the experiment, not how it is."""
SHOWN_ONLY = {"print_subprocess"}
parser = functools.cache(xlabench._parser)


def parsed(words):
    request = flags.read(parser().parse_args(words))
    return request, settings_of(request)


def planned(request):
    here = machine(accelerators={"cpu": "Example CPU", "cuda": "Example GPU", "tpu": "Example TPU"})
    return make_plan(request, here).entries


def words_of(command):
    name, *words = shlex.split(command)
    assert name == "xlabench"
    return words


def comes_back(of, chosen):
    """Say whether the command, typed as it stands, plans the experiment alone, under the same settings.

    Without a fallback op, the same with it stands beside: the two are measured in turns.
    """
    request, again = parsed(words_of(reproduce(of, chosen)))
    replaces = bool(of.config.without_fallback)
    found = [each.experiment_id for each in planned(request) if bool(each.config.without_fallback) == replaces]
    return found == [of.experiment_id] and again == chosen


def test_the_examples_are_for_every_field():
    """FIELDS and PROTOCOL hold the flags that give a field another value than its default: add those of a new one."""
    assert set(FIELDS) | OF_OWN_MODELS == set(ExperimentConfig.__struct_fields__)
    assert set(PROTOCOL) | WITHOUT_A_FLAG | OF_A_WHOLE_RUN | SHOWN_ONLY == set(Settings.__struct_fields__)


@pytest.mark.parametrize("field", FIELDS)
def test_each_field_of_a_configuration_comes_back(field):
    request, chosen = parsed([*ONE, "--accelerator", "cpu", *FIELDS[field]])
    entries = planned(request)
    default = {each.name: each.default for each in msgspec.structs.fields(ExperimentConfig)}[field]
    assert any(getattr(each.config, field) != default for each in entries)
    assert all(comes_back(each, chosen) for each in entries)


@pytest.mark.parametrize("words", AGAINST_THE_PRESET.values(), ids=AGAINST_THE_PRESET)
def test_what_a_preset_fixes_otherwise_comes_back(words):
    request, chosen = parsed([*ONE, "--accelerator", "cpu", *words])
    assert all(comes_back(each, chosen) for each in planned(request))


@pytest.mark.parametrize("field", PROTOCOL)
def test_each_setting_comes_back(field):
    request, chosen = parsed([*ONE, "--accelerator", "cpu", *PROTOCOL[field]])
    assert getattr(chosen, field) != getattr(Settings(), field)
    assert comes_back(planned(request)[0], chosen)


@st.composite
def commands(draw):
    """Draw flags that do not contradict each other."""
    sets = [words for name, words in FIELDS.items() if name not in ("enable_functionalization", "cudagraphs")]
    sets += [*PROTOCOL.values(), *([f"--{name.replace('_', '-')}"] for name in INSTRUMENTS)]
    chosen = draw(st.lists(st.sampled_from(sets), max_size=8, unique_by=tuple))
    words = [*ONE, *(word for each in chosen for word in each), "--preset", draw(st.sampled_from(protocol.PRESETS))]
    given_twice = {"--dtype", "--verify", "--verify-only"}
    if "--amp-dtype" in words:
        words += ["--dtype", "amp"]
    if given_twice <= set(words):
        words.remove("--verify-only")
    if "--verify" in words and "--verify-only" in words:
        words.remove("--verify-only")
    return words


@given(words=commands(), data=st.data())
@examples(max_examples=30, deadline=None, derandomize=True)
def test_whatever_was_asked_for_comes_back(words, data):
    """Any flags together, any experiment of their plan."""
    request, chosen = parsed(words)
    entries = planned(request)
    if entries:
        of = entries[data.draw(st.integers(0, len(entries) - 1))]
        assert comes_back(of, chosen), (words, of.variant, reproduce(of, chosen))


@pytest.mark.parametrize("model", ["a.b+c", "a model", "$HOME", "it's"])
def test_any_models_name_stays_one_word(model):
    words = words_of(reproduce(entry(model=model), settings()))
    assert words[words.index("--only") + 1] == f"dummy/{model}"


def test_the_environment_is_named_with_its_interpreter():
    """A shell elsewhere knows no `xlabench.toml`; the current interpreter needs no word."""
    other = msgspec.structs.replace(entry(), environment="old")
    words = words_of(reproduce(other, settings(), "/venvs/old/bin/python"))
    request, _ = parsed(words)
    assert [(name, str(python)) for name, python in request.environments] == [("old", "/venvs/old/bin/python")]
    assert "--env" not in words_of(reproduce(entry(), settings(), sys.executable))


def test_what_was_measured_in_spite_of_a_table_is_so_again():
    forced = msgspec.structs.replace(entry(), in_spite_of="too slow")
    assert parsed(words_of(reproduce(forced, settings())))[0].selection.no_skip
    assert "--no-skip" not in words_of(reproduce(entry(), settings()))


def test_torchbench_is_looked_for_where_it_was_found(tmp_path):
    config = ExperimentConfig(suite_name="torchbench", model_name="m", test="eval", accelerator="cpu")
    words = words_of(reproduce(make_entry(config, "default", None), settings(), sys.executable, tmp_path))
    assert words[words.index("--torchbench-dir") + 1] == str(tmp_path)
    assert "--torchbench-dir" not in words_of(reproduce(entry(), settings(), sys.executable, tmp_path))


@given(share=st.floats(1e-6, 1, exclude_max=True))
@examples(max_examples=25, deadline=None, derandomize=True)
def test_any_target_comes_back_to_the_last_digit(share):
    _, usual = parsed(ONE)
    chosen = msgspec.structs.replace(usual, until_stable=share, processes=1)
    assert parsed(words_of(reproduce(entry(), chosen)))[1] == chosen


def test_the_record_carries_the_command():
    from runner_makers import ended, facts

    of = entry("inductor")
    found = make_record(of, facts(python="/venvs/old/bin/python"), ended()).reproduce
    assert found == reproduce(of, settings(), "/venvs/old/bin/python")
