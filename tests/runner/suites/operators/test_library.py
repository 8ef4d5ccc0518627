"""Operators from Python, JSON in memory; the flow of PARAM's `run_op.py`."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from runner import param
from runner.environments.machine import detect
from runner.param import collect, create_bench_config, create_op_args, create_type, expand, run
from runner.suites import operators
from tests import warm

ROOT = Path(__file__).resolve().parents[4]


def test_the_public_names_are_those_that_the_document_shows():
    text = (ROOT / "docs" / "param.md").read_text()
    assert [name for name in [*operators.__all__, *param.__all__] if name not in text] == []


def test_importing_the_library_imports_no_torch():
    code = "import sys, runner.param; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_flow_of_run_op_gives_the_times_of_both_passes():
    """As facebookresearch/param, examples/pytorch/run_op.py: make the configuration, fill it, run it, collect."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    config = create_bench_config("torch.mm")
    first, second = create_type("tensor"), create_type("tensor")
    first["shape"] = second["shape"] = [64, 64]
    config["torch.mm"]["config"][0]["input"].append(create_op_args([first, second], {}))
    (case,) = expand(config)
    assert case.operator.build is None
    result = run(case, backward=True, warmup=2, iteration=3)
    (line,) = collect([result])
    torch.set_num_threads(threads)
    assert (line["op_name"], line["id"]) == ("torch.mm", "0|0|0")
    for pass_name in ("forward", "backward"):
        assert [len(line["metric"][pass_name][name]) for name in ("warmup.time", "measure.time")] == [2, 3]
        assert min(line["metric"][pass_name]["measure.time"]) > 0


def test_the_program_of_the_document_runs():
    """What docs/param.md shows under Library is a whole program."""
    pytest.importorskip("torch")
    text = (ROOT / "docs" / "param.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", text.partition("## Library")[2], re.DOTALL)
    done = warm.program(program, imports="torch")
    assert done.returncode == 0, done.stderr
    assert re.search(r"torch\.mm 0\|0\|0 forward \[\d", done.stdout)


SEVERAL = """
import json, sys
from runner.param import expand, run
def tensor(*shape):
    return {"type": "tensor", "dtype": "float", "shape": list(shape)}
given = [{"input": [{"args": [tensor(size, size), tensor(size, size)]}]} for size in (8, 16)]
cases = expand({"torch.mm": {"input_data_generator": "PyTorch:DefaultDataGenerator", "config": given}})
for backend in sys.argv[1:]:
    for case in [*cases, cases[0]]:
        report = run(case, backend=backend, iteration=2).report
        kinds = sorted(graph.kind for graph in report.graphs)
        own = {name: report.metrics.get(name) for name in ("graphs_number", "dynamo_compile_time_s")}
        print(json.dumps(own | {"backend": backend, "kinds": kinds, "invalid": report.invalid}))
"""
GRAPHS = {
    "inductor": ([1.0], ["fx", "inductor"]),
    "openxla+dynamo": ([1.0], ["fx", "hlo"]),
    "openxla+lazytensor": (None, ["hlo"]),
}


def test_each_case_of_one_process_has_the_graphs_and_the_compile_time_of_its_own():
    """Also the third, which is the first again, and lazy tensors after the bridge; no compiler's count goes on."""
    pytest.importorskip("torch")
    backends = [name for name in GRAPHS if "xla" not in name or "torch_xla" in detect().packages]
    done = warm.program(SEVERAL, *backends, imports="torch_xla" if len(backends) > 1 else "torch")
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [(each["backend"], (each["graphs_number"], each["kinds"]), each["invalid"]) for each in told] == [
        (name, GRAPHS[name], None) for name in backends for _ in range(3)
    ]
    first, *later = (each["dynamo_compile_time_s"][0] for each in told if each["backend"] == "inductor")
    # The first pays for what dynamo and inductor begin with; a sum would be larger than it.
    assert 0 < max(later) < first


OWN = """
from runner.suites.operators import generator, iterator, operator

@operator("my.scaled")
def scaled(x, factor):
    return x * factor

@operator("my.adder", build=True)
def adder(amount):
    return lambda x: x + amount

@iterator("Twice")
def twice(configs, build):
    for number, config in enumerate(configs):
        yield f"{number}_a", config
        yield f"{number}_b", config

@generator("Ones")
def ones(arguments, draw):
    import torch
    return [torch.ones(each.shape) for each in arguments.args], {}
"""


def test_one_function_registers_an_operator_an_iterator_or_a_generator(tmp_path, monkeypatch, tensor):
    """In a process of their own: a registration is for ever."""
    pytest.importorskip("torch")
    (tmp_path / "my_ops.py").write_text(OWN)
    program = """
from runner.param import expand, run
tensor = {"type": "tensor", "dtype": "float", "shape": [4]}
info = {"input_iterator": "Twice", "input_data_generator": "PyTorch:DefaultDataGenerator"}
config = {"my.scaled": info | {"config": [{"input": [{"args": [tensor, {"type": "int", "value": 2}]}]}]}}
config["my.adder"] = {"input_data_generator": "Ones", "build_data_generator": "PyTorch:DefaultDataGenerator",
    "config": [{"build": [{"args": [{"type": "int", "value": 3}]}], "input": [{"args": [tensor]}]}]}
cases = expand(config)
print([case.param_id for case in cases])
for case in cases:
    assert run(case).report.invalid is None
"""
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    monkeypatch.setenv("XLABENCH_OPERATORS", "my_ops")
    done = warm.program(program, imports="torch")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "['my.scaled|0|0|0_a', 'my.scaled|0|0|0_b', 'my.adder|0|0|0']"


def test_a_module_that_cannot_be_imported_leaves_the_others(tmp_path, monkeypatch):
    """What it would have registered is unavailable with the reason; the rest runs."""
    (tmp_path / "broken_ops.py").write_text("import no_such_package")
    program = """
from runner.suites.operators import expand
info = {"input_data_generator": "PyTorch:DefaultDataGenerator", "config": [{"input": [{"args": []}]}]}
print([case.missing for case in expand({"my.op": info, "torch.relu": info})])
"""
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    monkeypatch.setenv("XLABENCH_OPERATORS", "broken_ops")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "my.op is not registered: broken_ops: ModuleNotFoundError: No module named 'no_such_package'" in done.stdout
    assert done.stdout.strip().endswith(", None]")
