"""What differs from script to script; in a script, its own text takes the place of this module."""

from __future__ import annotations

from typing import Any

ENVIRONMENT: dict[str, str] = {}
"""Variables that are set before the first use of torch_xla."""
PACKAGES: tuple[str, ...] = ()
"""Packages whose versions the script prints."""
OP = ""
"""The op as torch_xla's counter names it, with `aten::`."""
DEVICE = "cpu"
DYNAMO: str | None = None
COMPILE: dict[str, Any] = {}
"""Arguments of `torch.compile`."""
OVERRIDES: dict[str, Any] = {}
"""Settings of the compilers by dotted name, as `inductor.freezing`."""
TEST = "eval"
DTYPE = "float32"
AMP_DTYPE = "bfloat16"
OPTIMIZER: str | None = None
OWN_STEP = False
"""In place of a loss, `build` returns the model's own training step, a function of arguments and keywords."""
PRECISION = "highest"
"""Precision of float32 products, as `torch.set_float32_matmul_precision` takes it."""
SEED = 1337
ITERATIONS = 3
EXPECTED: tuple[str, ...] = ()
"""Texts that the fault's message holds, in this order; what differs from case to case stands between them."""
SIGNAL: int | None = None
EXIT_CODE: int | None = None
LIMIT_S = 600.0
"""After this time the program counts as hanging."""
TOLERANCE = 1e-4
BY_COSINE = False
LARGER_MULTIPLIER = False
MAX_MULTIPLIER = False
IOU: float | None = None
SAMPLES: int | None = None
"""Samples of an iteration; outputs with one entry for each are judged in chunks."""
ROWS = 4
"""Samples of a chunk."""
PREDICTS = False
"""A step of training returns what the model predicts, which alone is compared: the loss of many samples hides it."""
KNOWN: tuple[tuple[str, float], ...] = ()
"""Deviations that count as right: names of tensors as an expression, and the tolerance that they have."""


def build() -> tuple[Any, tuple[Any, ...], dict[str, Any], Any]:
    """Return the model on the CPU, the arguments and keywords of one call, and the loss of training."""
    raise NotImplementedError


def inputs() -> list[Any]:
    """Return the tensors of one call, on the CPU."""
    raise NotImplementedError


def call(*values: Any) -> Any:
    """Do what is wrong."""
    raise NotImplementedError


def mod(*values: Any) -> Any:
    """Stand for the minified graph, a module."""
    raise NotImplementedError


def load_args(reader: Any) -> None:
    """Have the reader make the arguments of the minified graph."""
    raise NotImplementedError
