"""What can be measured nowhere is said when it is planned."""

import os

import pytest
from runner_makers import config

from runner.plan.local_request import not_measurable
from tests import warm
from tests.needs import need


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"pure_wall_time": True}, "device events, which the cpu does not have"),
        ({"pure_wall_time": True, "xla": "PJRT", "accelerator": "tpu"}, "which PyTorch/XLA does not have"),
        ({"pure_wall_time": True, "accelerator": "cuda"}, None),
        ({"pure_wall_time": True, "accelerator": "xpu"}, None),
        ({"keep_model_data_on_cuda": True, "xla": "PJRT", "dynamo": "openxla"}, "no longer moves tensors"),
        ({"keep_model_data_on_cuda": True}, None),
        ({"freezing": True, "dynamo": "inductor", "test": "train"}, "eval only"),
        ({"freezing": True, "dynamo": "inductor"}, None),
        ({"dynamic_batch_only": True, "include_transfers": True}, "exclude each other"),
        ({"without_fallback": ("nonzero",), "dynamo": "inductor"}, "only PyTorch/XLA has fallback ops"),
        (
            {"without_fallback": ("nonzero",), "xla": "PJRT", "torch_xla2": "extract_jax"},
            "only PyTorch/XLA has fallback ops",
        ),
        ({"without_fallback": ("nonzero",), "xla": "PJRT"}, None),
        ({}, None),
    ],
)
def test_a_setting_that_fits_no_machine_is_a_reason(changes, says):
    found = not_measurable(config(**changes))
    assert found is None if says is None else says in found


BRIDGE = """
import torch, torch_xla
from torch_xla.debug import metrics
module = torch.nn.Linear(2, 2)
step = torch.compile(module, backend="openxla")
with torch.no_grad():
    print(step(torch.ones(1, 2)).device, metrics.metric_data("ExecuteTime"))
"""


def test_the_bridge_runs_tensors_of_the_host_on_the_host():
    """The reason why keep-model-data-on-cuda is refused: XLA executes nothing. Where it does, it can be measured."""
    need("torch_xla")
    done = warm.program(BRIDGE, imports="torch_xla", env={**os.environ, "PJRT_DEVICE": "CPU"})
    assert done.stdout.split() == ["cpu", "None"], done.stderr
    assert "Please move all tensors to xla device" in done.stderr
