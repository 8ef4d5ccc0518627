"""`xlabench.measure` from a script without a guard, as one types it; and how a module gets to another process."""

import json
import threading

import pytest

from tests import warm
from xlabench import MeasureError, api

SCRIPT = """
import torch
import rich.console
import xlabench

rich.console._is_jupyter = lambda: True

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
    def forward(self, rows):
        return self.layer(rows)

def loss(output, batch):
    return (output - batch).abs().mean()

result = xlabench.measure(
    Net(), torch.rand(4, 8), backends=["eager", "inductor"], test="train", loss=loss, processes=1, repeat=2, show=False
)
print(result)
frame = result.to_pandas()
assert list(frame["verification_code"]) == ["PASS", "PASS"], frame["verification_code"]
assert result.best in set(frame["variant"])
page = result._repr_html_()
assert result.best in str(result), "also where rich believes that it draws into a notebook"
assert page.startswith("<iframe sandbox") and "&lt;table&gt;" in page and "&lt;svg" in page, "tables and the chart"
"""


@pytest.mark.slow
def test_a_script_measures_what_it_has_defined_itself(tmp_path):
    """Classes and losses of `__main__` are compiled by dynamo in another process; nothing runs the script again.

    The script is forked from a process that has torch; so is the command that it starts, before the script begins.
    """
    (tmp_path / "script.py").write_text(SCRIPT)
    done = warm.run("script", [], cwd=tmp_path, imports="torch")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Speedup over inductor") == 1
    [file] = tmp_path.glob("xlabench-data/runs/*/results.jsonl")
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert {record["experiment"]["resolved_loss"] for record in records} == {"own"}
    assert {record["model"]["model_name"].partition("@")[0] for record in records} == {"measure:Net"}


def test_a_module_travels_by_pickle_or_as_a_program_or_the_error_names_both(tmp_path):
    import torch

    class Locked(torch.nn.Linear):
        def __init__(self):
            super().__init__(2, 2)
            self.lock = threading.Lock()

    class Reading(Locked):
        def forward(self, rows):
            return super().forward(rows) * rows.sum().item() if rows.sum() > 0 else rows

    rows = torch.rand(3, 2)
    assert api._written(tmp_path, torch.nn.Linear(2, 2), rows, None) == ("pickled", str(tmp_path))
    assert api._written(tmp_path, Locked(), rows, None) == ("exported", str(tmp_path / "module.pt2"))
    with pytest.raises(MeasureError, match=r"Reading cannot be sent .*cloudpickle: TypeError.*torch.export: "):
        api._bring(tmp_path, Reading(), rows, None)
    with pytest.raises(MeasureError, match="Linear has no inputs"):
        api.measure(torch.nn.Linear(2, 2))


def test_identity_is_that_of_code_and_forms_not_of_weights():
    import torch

    rows = torch.rand(3, 2)
    of_one = api._identity(torch.nn.Linear(2, 2), rows, None)
    assert api._identity(torch.nn.Linear(2, 2), torch.rand(3, 2), None) == of_one
    assert api._identity(torch.nn.Linear(2, 3), rows, None) != of_one
    assert api._identity(torch.nn.Linear(2, 2), torch.rand(4, 2), None) != of_one


def test_the_best_of_several_tests_has_a_valid_result_of_each_and_the_smallest_geometric_mean():
    def row(variant, test, latency_s, *, valid=True):
        return {"variant": variant, "test": test, "latency_s": latency_s, "valid": valid}

    rows = [
        *(row("eager", test, 2.0) for test in ("eval", "train")),
        *(row("inductor", test, seconds) for test, seconds in (("eval", 0.1), ("train", 50.0))),
        *(row("openxla+dynamo", test, 0.1, valid=test == "eval") for test in ("eval", "train")),
    ]
    assert api.Result(None, rows, "run").best == "eager"
    assert api.Result(None, rows[::2], "run").best == "inductor"
    assert api.Result(None, rows[-1:], "run").best is None
