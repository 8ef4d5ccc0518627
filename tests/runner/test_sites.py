"""Where a program asks for an op."""

import sys
from pathlib import Path

import pytest

from runner.graphs import collect

torch = pytest.importorskip("torch")
HERE = Path(__file__)


class Program(torch.nn.Module):
    def forward(self, x):
        return x[torch.nonzero(x)].sum() * x.max().item()  # the line that asks


def line_of(text):
    return next(n for n, line in enumerate(HERE.read_text().splitlines(), 1) if text in line)


def test_the_finder_names_file_line_and_function():
    with collect.finder(["nonzero", "_local_scalar_dense"]) as finder:
        Program()(torch.ones(3))
    place = f"{HERE}:{line_of('# the line that asks')} in forward"
    assert finder.call_sites == {"nonzero": place, "_local_scalar_dense": place}


def test_ops_that_nobody_asked_about_are_left_alone():
    with collect.finder(["nonzero"]) as finder:
        torch.ones(3).max().item()
    assert finder.call_sites == {}


def test_an_overload_is_named_as_the_counters_name_it():
    assert collect.op_name(torch.ops.aten.scatter_reduce.two) == "scatter_reduce.two"
    assert collect.op_name(torch.ops.aten.nonzero.default) == "nonzero"


def trace_of(*files):
    return "Traceback:\n" + "\n".join(f'  File "{file}", line 7, in forward\n    x = y' for file in files)


def test_the_innermost_place_outside_torch_is_the_programs():
    packages = Path(torch.__file__).parents[1]
    text = trace_of("/home/me/train.py", packages / "timm/layers/pos_embed.py", packages / "torch/nn/functional.py")
    assert collect.of_trace(text) == "timm/layers/pos_embed.py:7 in forward"


def test_the_runner_is_no_program_but_its_models_are():
    root = Path(collect.__file__).parents[1]
    assert collect.of_trace(trace_of(root / "process/steps.py")) is None
    text = trace_of(root / "suites/dummy_modules.py", root / "process/measure.py")
    assert collect.of_trace(text) == "runner/suites/dummy_modules.py:7 in forward"


def test_the_standard_library_and_generated_code_are_no_places():
    import contextlib

    assert collect.of_trace(trace_of(contextlib.__file__, "<eval_with_key>.3")) is None
    assert collect.caller(sys._getframe()).startswith(str(HERE))
