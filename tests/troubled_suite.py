"""A suite of small models, each with one trouble that compilers know; loaded through `XLABENCH_SUITES`.

The runs of tests/data/review measured it, so that its failures, fallback ops, graph breaks and wrong answers are real.
"""

import itertools
import os
import signal
import time
from pathlib import Path

from runner.suites.base import BuildRequest, ModelInfo, SuiteContext
from runner.workload import Workload
from tests.plain_suite import PlainSuite

BROKEN = "XLABENCH_TEST_BROKEN"
"""Variable with names of models, parted by commas, that raise in this run."""
ONCE = "XLABENCH_TEST_ONCE"
"""Variable with the path of a file: while it exists, `unlucky` fails, and takes it away."""
_WIDTH = 64
_NO_MEMORY = 1 << 50
_calls = itertools.count(1)


def _prints(values):
    print(end="")
    return values


def _reads_a_value(values):
    return values * 2 if values.sum().item() > 1e9 else values


def _sorts_out_duplicates(values):
    import torch

    return values + torch.unique((values > 0).to(torch.int64)).sum()


def _resizes(values):
    import torch

    square = values.reshape(values.shape[0], 1, 8, 8)
    grown = torch.nn.functional.interpolate(square, scale_factor=2, mode="bicubic")
    return grown.mean(dim=(2, 3)) + values


def _scaled(values):
    import torch

    return torch.ops.troubled.scaled(values)


def _shapeless(values):
    import torch

    return torch.ops.troubled.shapeless(values)


def _hangs(values):
    if values.device.type == "xla":
        time.sleep(1000)
    return values


def _segfaults(values):
    if values.device.type == "xla":
        os.kill(os.getpid(), signal.SIGSEGV)
    return values


def _wrong(values):
    return values + 1 if values.device.type == "xla" else values


def _random(values):
    return values + int.from_bytes(os.urandom(2), "big")


def _too_large(values):
    import torch

    torch.empty(_NO_MEMORY)
    return values


def _never_settles(values):
    time.sleep(0.001 * 1.3 ** min(next(_calls), 26))
    return values


def _unlucky(values):
    if Path(os.environ.get(ONCE, "/nowhere")).exists():
        Path(os.environ[ONCE]).unlink()
        raise ValueError("this step fails this once")
    return values


def _same(values):
    return values


TROUBLES = {
    "prints_in_forward": _prints,
    "reads_a_value": _reads_a_value,
    "sorts_out_duplicates": _sorts_out_duplicates,
    "resizes_bicubic": _resizes,
    "custom_op_of_the_cpu": _scaled,
    "op_without_shape_function": _shapeless,
    "hangs_on_xla": _hangs,
    "segfaults_on_xla": _segfaults,
    "wrong_on_xla": _wrong,
    "random_answers": _random,
    "too_large": _too_large,
    "never_settles": _never_settles,
    "cannot_be_built": _same,
    "unlucky": _unlucky,
    "broken_lately": _same,
}
"""What each model does between its two layers."""


def _register() -> None:
    """Make two ops: one without a shape function, one whose shape function raises."""
    import torch

    ops = torch.library.custom_op
    ops("troubled::scaled", _halved, mutates_args=(), device_types="cpu", schema="(Tensor values) -> Tensor")
    shapeless = ops("troubled::shapeless", _halved, mutates_args=(), schema="(Tensor values) -> Tensor")
    shapeless.register_fake(_no_shape)


def _halved(values):
    return values * 0.5


def _no_shape(values):
    raise RuntimeError("no shape function for troubled::shapeless")


def _module(name: str):
    import torch

    class Troubled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(_WIDTH, _WIDTH)
            self.second = torch.nn.Linear(_WIDTH, _WIDTH)
            self.between = TROUBLES[name]

        def forward(self, values):
            if broken:
                raise ValueError(f"a change of this week broke {name}")
            return self.second(self.between(torch.relu(self.first(values))))

    broken = name in os.environ.get(BROKEN, "").split(",")
    return Troubled()


class TroubledSuite(PlainSuite):
    name = "troubled"

    def models(self, context: SuiteContext) -> list[ModelInfo]:
        return [ModelInfo(name=name, skips={"train": "its trouble is one of eval"}) for name in TROUBLES]

    def build(self, request: BuildRequest) -> Workload:
        import torch

        if request.model_name == "cannot_be_built":
            raise RuntimeError("the weights of this model are not to be had")
        _register()
        torch.manual_seed(request.seed)
        return Workload(
            module=_module(request.model_name),
            args=(torch.rand(16, _WIDTH),),
            batch_size=16,
            loss=lambda output: output.square().mean(),
            loss_name="mean_square",
        )


SUITE = TroubledSuite()
