"""A suite whose models tell, by the error they raise, what holds inside their process; through `XLABENCH_SUITES`."""

import json

from runner.suites.base import BuildRequest, ModelInfo, SuiteContext
from runner.workload import Workload
from tests.plain_suite import PlainSuite

BATCH, FEATURES = 4, 8


class Told(Exception):
    """What a model found; its text is JSON."""


def _state(values):
    """Return what settings of an experiment change in a process."""
    import torch
    from torch._dynamo import config as dynamo
    from torch._inductor import config as inductor

    return {
        "autocast": str(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else None,
        "dtype": str(values["rows"].dtype),
        "cache_size_limit": dynamo.recompile_limit,
        "max_autotune": inductor.max_autotune,
        "cudagraphs": inductor.triton.cudagraphs,
    }


def _bicubic(rows):
    """Calls an op that PyTorch/XLA does not lower and torch can decompose."""
    import torch

    square = rows.reshape(BATCH, 1, 2, FEATURES // 2)
    return rows + torch.nn.functional.interpolate(square, scale_factor=2, mode="bicubic").mean(dim=(1, 2, 3))[:, None]


def _lgamma(rows):
    """Calls one whose decomposition in torch is itself."""
    import torch

    return torch.lgamma(rows + 1)


def _as_they_are(rows):
    return rows


_OPS = {"bicubic": _bicubic, "lgamma": _lgamma}


def _module(name):
    import torch

    @torch._dynamo.disable
    def tell(values):
        raise Told(json.dumps(_state(values)))

    class Telling(torch.nn.Module):
        """`tell` raises what it finds; `same_input` raises where an input comes twice; `hidden` is not captured.

        `bicubic` and `lgamma` call an op that falls back; `linear` is one layer, which compiles soon.
        """

        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(FEATURES, FEATURES)
            self.seen = set()

        def forward(self, values):
            if name == "tell":
                tell(values)
            elif name == "same_input":
                self.compare(values)
            return self.linear(_OPS.get(name, _as_they_are)(values["rows"]))

        def compare(self, values):
            assert values["index"].tolist() == list(range(BATCH))
            assert values["rows"].dtype == self.linear.weight.dtype
            key = tuple(values["rows"].double().flatten().tolist())
            if key in self.seen:
                raise Told("an input came twice")
            self.seen.add(key)

    made = Telling()
    if name == "hidden":
        made.forward = torch._dynamo.disable(made.forward)
    return made


class TellingSuite(PlainSuite):
    name = "telling"

    def models(self, context: SuiteContext) -> list[ModelInfo]:
        return [ModelInfo(name=name) for name in ("tell", "same_input", "hidden", "bicubic", "lgamma", "linear")]

    def build(self, request: BuildRequest) -> Workload:
        import torch

        return Workload(
            module=_module(request.model_name),
            args=({"rows": torch.rand(BATCH, FEATURES), "index": torch.arange(BATCH)},),
            batch_size=BATCH,
            loss=lambda output: output.mean(),
            loss_name="mean",
        )


SUITE = TellingSuite()
