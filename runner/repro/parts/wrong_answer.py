"""A model's results under a backend against eager's, and the first tensor that is too far from float64."""

from __future__ import annotations

import random
import re
from typing import Any

import torch
from torch.utils import _pytree as pytree

from runner.backends.steps import copied
from runner.repro.parts.given import (
    BY_COSINE,
    DEVICE,
    DTYPE,
    DYNAMO,
    IOU,
    ITERATIONS,
    KNOWN,
    LARGER_MULTIPLIER,
    MAX_MULTIPLIER,
    OPTIMIZER,
    OWN_STEP,
    PREDICTS,
    ROWS,
    SAMPLES,
    SEED,
    TEST,
    TOLERANCE,
    build,
)
from runner.repro.parts.step import cast, compiled, finish, make_step, not_shown, open_device, place, shown
from runner.verify.judge import CONSTANT, ZEROS, Judgement, TensorRule, judge
from runner.verify.leaves import Opaque, identical, largest, leaves, trained
from runner.verify.preparation import without_dropout


def wrong_answer() -> int:
    """Run eager twice, float64 and the backend; compare tensor by tensor."""
    be_deterministic()
    backend = open_device()  # before anything runs: the first backward pass counts the devices
    host = torch.device("cpu" if DEVICE == "xla" else DEVICE)
    eager, repeated = results(host), results(host)
    for first, second in zip(eager, repeated, strict=True):
        if different := [name for name in first if not identical(first[name], second.get(name))]:
            return not_shown(f"eager itself differs from run to run: {different[0]}")
    double = exact(host)
    result = results(backend, compile_it=True)
    for iteration in range(ITERATIONS):
        before = eager[iteration - 1] if iteration else {}
        wrong = first_wrong(eager[iteration], result[iteration], double[iteration] if double else None, before)
        if wrong is not None:
            name, judged = wrong
            print(f"first tensor that differs: {name}, tolerance {TOLERANCE:g}, decided by {judged.check}")
            print(f"iteration {iteration + 1} of {ITERATIONS}, samples {judged.samples or 'together'}")
            print(f"largest absolute difference {judged.max_abs}, relative {judged.max_rel}, cosine {judged.cosine}")
            print(f"RMSE from float64: backend {judged.rmse}, eager {judged.rmse_eager}")
            return shown(f"{name} differs from eager by more than the tolerance")
    return not_shown(f"all {len(eager[0])} results are within the tolerance {TOLERANCE:g}")


def first_wrong(
    eager: dict[str, Any], result: dict[str, Any], double: dict[str, Any] | None, before: dict[str, Any]
) -> tuple[str, Judgement] | None:
    """Return the first tensor of an iteration that is wrong; what eager computes as noise is not."""
    for name, value in eager.items():
        if isinstance(value, Opaque):
            continue
        judged = judged_by(name, result.get(name), (double or {}).get(name), eager, before, exact_known=bool(double))
        if not judged.passed and judged.unjudged in (None, CONSTANT, ZEROS):
            return name, judged
    return None


def be_deterministic() -> None:
    """Take chance out of the process."""
    torch.use_deterministic_algorithms(mode=True, warn_only=True)
    torch.backends.cudnn.allow_tf32 = False
    if DEVICE == "xla":
        import torch_xla.backends

        torch_xla.backends.set_mat_mul_precision("highest")
    if DYNAMO == "inductor":
        from torch._inductor import config

        config.fallback_random = True  # inductor's own random streams differ from eager's


def exact(host: Any) -> list[dict[str, Any]] | None:
    """Return the results in float64, None where the model does not know that type: then the check is weaker."""
    try:
        return results(host, dtype="float64")
    except Exception as error:  # noqa: BLE001 - a model may raise anything in a type it does not know
        print(f"float64 could not run: {type(error).__name__}: {error}")
        return None


def results(device: Any, dtype: str = DTYPE, *, compile_it: bool = False) -> list[dict[str, Any]]:
    """Build the model again, run some iterations, and return the tensors of each iteration's results by name."""
    random.seed(SEED)
    torch.manual_seed(SEED)
    module, args, kwargs, loss = build()
    if TEST == "train":
        without_dropout(module)
    module = place(module, dtype, device, loss)
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda leaf: leaf.to(device), cast((args, kwargs), dtype))
    step = make_step(module, loss, device, dtype)
    step = compiled(step) if compile_it else step
    iterations = []
    for _ in range(ITERATIONS):
        random.seed(SEED)
        torch.manual_seed(SEED)
        if device.type == "xla":
            from torch_xla.core import xla_model

            xla_model.set_rng_state(SEED, str(device))
        given_inputs = pytree.tree_map_only(torch.Tensor, copied, (args, kwargs))
        with torch.set_grad_enabled(TEST == "train"):
            output = step(*given_inputs)
            finish(device)
        iterations.append(collected(module, output, double=dtype == "float64"))
    return iterations


def collected(module: Any, output: Any, *, double: bool) -> dict[str, Any]:
    """Return outputs in eval; in training predictions alone where they are the fault, else all that it changes."""
    if TEST == "eval":
        return leaves(output, "output", double=double)
    if PREDICTS:
        return leaves(output[0], "prediction", double=double)
    stepped = bool(OPTIMIZER or OWN_STEP)
    return leaves(output, "loss", double=double) | trained(module, stepped=stepped, double=double)


def judged_by(
    name: str, result: Any, double: Any, eager: dict[str, Any], before: dict[str, Any], *, exact_known: bool
) -> Judgement:
    """Judge one tensor, by its own tolerance where a deviation is known; `before` is eager's iteration before."""
    value = eager[name]
    tolerance = next((known for pattern, known in KNOWN if re.search(pattern, name)), TOLERANCE)
    rule = TensorRule(
        tolerance=tolerance,
        cosine=BY_COSINE or not exact_known,
        larger_multiplier=LARGER_MULTIPLIER,
        max_multiplier=MAX_MULTIPLIER,
        iou=IOU,
        widen=DTYPE == "amp",
    )
    kind = re.split(r"[.\[]", name)[0]
    alike = [tensor for key, tensor in eager.items() if re.split(r"[.\[]", key)[0] == kind]
    scale = max(
        (largest(tensor) for tensor in alike if isinstance(tensor, torch.Tensor) and tensor.is_floating_point()),
        default=0.0,
    )
    rows = (
        ROWS
        if kind in ("output", "prediction") and isinstance(value, torch.Tensor) and value.shape[:1] == (SAMPLES,)
        else None
    )
    return judge(value, result, double, rule, 0.0 if exact_known else scale, rows, before.get(name))
