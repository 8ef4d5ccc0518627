"""PARAM's command line: what becomes of its flags, and its output, which the store reads again."""

import json
import os
import statistics
import sys

import pytest

from runner.param import command_line, library
from runner.suites.operators import batch
from runner.suites.operators.suite import cases
from store.errors import UsageError
from store.importers.param import Param
from tests import warm
from tests.needs import need

SECONDS = {"total_time": [5.0, 0.004, 0.003], "peak_memory_bytes": [2**21]}
TRAINED = {"total_time": [9.0, 0.006], "forward_time": [5.0, 0.002], "backward_time": [4.0, 0.004]}


@pytest.fixture
def three(config_file, tensor):
    """Three cases and their file."""
    size = tensor([1, 3, 1], __range__=["shape"])
    path = config_file("torch.relu", [size], input_iterator="RangeConfigIterator")
    return path, cases([str(path)])


def words(*given):
    return command_line.translate(command_line.parser().parse_args(["-c", "ops.json", *given]))


def test_their_protocol_is_one_process_with_one_thread_and_exactly_these_blocks():
    found = words("-w", "5", "-i", "10")
    assert {"--preset=peer", "--processes=1", "--repeat=15", "--threads=1", "--accelerator=cpu"} <= set(found)
    assert {"--config=ops.json", "--suite-name=operators", "--exec-mode=discrete"} <= set(found)


def test_a_device_has_an_index():
    assert {"--accelerator=cuda", "--device-index=1", "--cuda-l2-cache=off"} <= set(
        words("-d", "cuda:1", "--cuda-l2-cache", "off")
    )
    with pytest.raises(UsageError, match="--device gpu: use one of cpu, cuda"):
        words("-d", "gpu")


def test_off_cuda_there_are_no_events_and_no_cache_to_clear():
    found = words("--exec-mode", "continuous_events", "--cuda-l2-cache", "off")
    assert "--exec-mode=continuous" in found
    assert not any(word.startswith("--cuda-l2-cache") for word in found)
    assert "--exec-mode=continuous_events" in words("-d", "cuda", "--exec-mode", "continuous_events")


@pytest.mark.parametrize(
    ("first", "stop", "left"),
    [(None, None, [0, 1, 2]), (1, None, [1, 2]), (None, 2, [0, 1]), (1, 2, [1])],
)
def test_resume_is_the_first_case_and_stop_the_one_after_the_last(three, first, stop, left):
    _, found = three
    ids = [case.param_id for case in found]
    chosen = command_line.selected(found, None if first is None else ids[first], None if stop is None else ids[stop])
    assert [case.param_id for case in chosen] == [ids[number] for number in left]


def test_an_id_that_is_none_or_the_wrong_way_round_is_refused(three):
    _, found = three
    with pytest.raises(
        UsageError, match=r"--resume-id nowhere: there is no such case; the cases are torch.relu\|0\|0\|0_0 to"
    ):
        command_line.selected(found, "nowhere", None)
    with pytest.raises(UsageError, match="nothing is left"):
        command_line.selected(found, found[2].param_id, found[1].param_id)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--backend", "tpu"], "there is no backend 'tpu'; choose one of eager, inductor"),
        (["--ncu"], "--ncu: it profiles CUDA devices, but -d cpu is not one of this machine"),
        (["--cuda-graph"], "--cuda-graph is not supported"),
        (["-w", "-1"], "the minimum is no warm-up and one iteration"),
        (["-l", "loud"], "--log-level loud"),
        (["-r", "x"], "--resume-id x: there is no such case"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_exit_2(three, capsys, given, said):
    try:
        code = command_line.main(["-c", str(three[0]), *given])
    except SystemExit as left:
        code = left.code
    told = capsys.readouterr().err
    assert (code, said in told, told.count("\n")) == (2, True, 1)


def test_without_a_configuration_it_says_so(capsys):
    assert command_line.main([]) == 2
    assert "A configuration is required; pass -c FILE" in capsys.readouterr().err


def test_times_are_milliseconds_warm_up_apart(three):
    line = library.param_line(three[1][0], SECONDS, "eval", 1, "cuda")
    assert line["id"] == "0|0|0_0"
    assert line["metric"]["forward"] == {
        "warmup.time": [5000.0],
        "warmup.gpu.memory": [2.0],
        "measure.time": [4.0, 3.0],
        "measure.gpu.memory": [2.0, 2.0],
    }


def test_a_backward_has_times_of_its_own_and_the_cpu_no_memory(three):
    metric = library.param_line(three[1][0], TRAINED, "train", 1)["metric"]
    assert {name: found["measure.time"] for name, found in metric.items()} == {"forward": [2.0], "backward": [4.0]}
    assert metric["forward"]["measure.gpu.memory"] == [0]


def test_a_profiler_is_started_once_a_batch_with_the_users_options(three, tmp_path):
    """As PARAM's runner, with its own batch process behind the profiler."""
    tool = batch.NsightTool(name="ncu", program="/bin/ncu", options=("--set", "full"), warmup=5, iteration=1)
    found = tool.command(tmp_path / "out", tmp_path / "batch.json", None)
    assert found[0] == "/bin/ncu"
    assert found[-7:] == [
        *("--set", "full", sys.executable, "-m", "runner.suites.operators.batch", "-f", str(tmp_path / "batch.json")),
    ]
    assert found[found.index("--nvtx-include") + 1] == "param_bench:measure"
    other = batch.NsightTool(name="nsys", program="nsys", options=(), warmup=5, iteration=10)
    assert other.command(tmp_path / "out", tmp_path / "b", "run me")[-4:] == ["run", "me", "-f", str(tmp_path / "b")]


def test_a_batch_calls_its_cases_on_the_host_too(three):
    pytest.importorskip("torch")
    from runner.suites.operators import batch

    for backward in (False, True):
        batch.call(three[1][0], warmup=1, iteration=1, backward=backward, accelerator="cpu")


@pytest.mark.slow
def test_the_output_is_what_the_store_reads_as_params(three, tmp_path):
    """Each backend's file, forward and backward; the medians are those of the run's own records."""
    need("torch_xla")
    given = ["-c", three[0], "-w", "2", "-i", "4", "-b", "-o", tmp_path / "out", "-r", "torch.relu|0|0|0_1"]
    words = [*given, "--backend", "eager", "--backend", "openxla+lazytensor"]
    environment = os.environ | {"XLABENCH_HOME": str(tmp_path / "home")}
    done = warm.run("runner.suites.operators", words, env=environment, imports="torch_xla")
    assert done.returncode == 0, done.stderr
    eager, lazy = sorted(tmp_path.glob("out_*.json"), key=lambda path: len(path.name))
    assert lazy.stem == f"{eager.stem}_openxla_lazytensor"
    lines = [json.loads(line) for line in eager.read_text().splitlines()]
    assert [line.get("id") for line in lines] == [None, "0|0|0_1", "0|0|0_2", None]
    assert lines[0]["run_options"]["pass_type"] == "backward"
    (results,) = (tmp_path / "home").glob("runs/*/results.jsonl")
    ours = [json.loads(line) for line in results.read_text().splitlines()]
    ours = {each["model"]["model_name"]: each for each in ours if each["variant"] == "eager"}
    assert Param().recognises(eager, eager.read_bytes())
    with eager.open("rb") as file:
        read = [each.record for each in Param().records(file, eager)]
    assert [each["experiment"]["test"] for each in read] == ["eval", "train"] * 2
    for each in read:
        name, _, _ = each["model"]["model_name"].partition(" backward")
        own = ours[f"{name} discrete"]["metrics"]
        phase = "backward_time" if each["experiment"]["test"] == "train" else "forward_time"
        assert each["measurement"]["blocks"]["kind"] == ["first", "warmup", *["steady"] * 4]
        assert statistics.median(each["metrics"]["per_iter_time"]) == pytest.approx(statistics.median(own[phase]))
