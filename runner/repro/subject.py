"""The experiment of a record, as far as a script needs it."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from runner.accelerators import ACCELERATORS
from runner.settings import OwnModel, Settings
from runner.suites import get_suite
from runner.suites.base import BuildRequest, ModelSource, local_context
from runner.suites.own.reference import MEASURED, from_python
from runner.suites.own.script import OWN_STEP
from runner.suites.own.script import source as own_source
from runner.suites.own.suite import NAME as OWN
from runner.verify import tables
from store.errors import UsageError
from store.record import ExperimentConfig

_KEY = re.compile(r"(dynamo|inductor)(\.[A-Za-z]\w*)+")
_WORD = re.compile(r"[\w.+-]{1,100}")
"""Values that a script may set: a path or command in a foreign record would be executed."""
_SEED = re.compile(r"--seed[= ](\d+)")
_TOLERANCE = re.compile(r"--tolerance[= ](\S+)")
_REQUEST_FIELDS = ("model_name", "test", "accelerator", "batch_size", "seed", "loss")
NO_SOURCE = "{} is a user's own model, and records do not contain its source. Name its file with --model."
_SUITE_SOURCE = """
def build():
    import msgspec
    from runner.suites import get_suite
    from runner.suites.base import BuildRequest
    from store.record.experiment import Operator

    operator = {operator!r}
    request = BuildRequest(**{asked!r}, operator=msgspec.convert(operator, Operator) if operator else None)
    workload = get_suite({suite!r}).build(request)
    return workload.module, workload.args, workload.kwargs, workload.loss
"""


@dataclass(frozen=True, kw_only=True)
class FaultyExperiment:
    """An experiment that has a fault."""

    config: ExperimentConfig
    batch_size: int | None
    """The resolved batch size; that of the verification if the verification failed."""
    settings: Settings
    own: OwnModel | None = None
    """Source of the model (suite `own`), as given on the command line."""
    resolved_loss: str | None = None

    @property
    def device(self) -> str:
        """Return the type of the device that its programs run on."""
        return "xla" if self.config.xla else self.config.accelerator

    def request(self) -> BuildRequest:
        """Return how its model is built; nothing is downloaded."""
        how = {"batch_size": self.batch_size, "seed": self.settings.seed, "context": local_context(None, self.own)}
        return BuildRequest.of(self.config, weights="random", **how)

    def source(self) -> ModelSource:
        """Return how its model is built, as text; with the help of xlabench where its suite has no text for it."""
        if self.config.suite_name == OWN:
            if self.own is None:
                name = self.config.model_name
                raise UsageError(from_python(name) if name.startswith(MEASURED) else NO_SOURCE.format(name))
            return own_source(self.own, self.request(), self.resolved_loss)
        make_source = getattr(get_suite(self.config.suite_name), "source", None)
        if make_source is not None:
            source: ModelSource = make_source(self.request())
            return source
        request = self.request()
        fields = {name: getattr(request, name) for name in _REQUEST_FIELDS}
        operator = msgspec.to_builtins(request.operator)
        text = _SUITE_SOURCE.format(asked=fields, operator=operator, suite=self.config.suite_name)
        return ModelSource(text=text, packages=("xlabench",))

    def packages(self) -> tuple[str, ...]:
        """Return the packages that its backend needs."""
        return ("torch", "torch_xla") if self.config.xla else ("torch",)

    def values(self) -> dict[str, Any]:
        """Return the constants of a script: names of `parts.given` and their values."""
        config = self.config
        compile_ = {"mode": config.compile_mode, "fullgraph": config.fullgraph or None}
        compile_["dynamic"] = True if config.dynamic_shapes and not config.dynamic_batch_only else None
        switches: dict[str, Any] = {"inductor.freezing": True} if config.freezing else {}
        switches |= {"inductor.triton.cudagraphs": True} if config.cudagraphs and config.dynamo == "inductor" else {}
        return {
            "ENVIRONMENT": self._environment(),
            "DEVICE": self.device,
            "DYNAMO": config.dynamo,
            "COMPILE": {name: value for name, value in compile_.items() if value is not None},
            "OVERRIDES": switches | {name: _value(text) for name, text in config.overrides.items()},
            "TEST": config.test,
            "OWN_STEP": self.resolved_loss == OWN_STEP,
            # The tensors of an operator are those of its call already.
            "DTYPE": "float32" if config.operator is not None else config.dtype,
            "AMP_DTYPE": config.amp_dtype or ACCELERATORS[config.accelerator].amp_dtype,
            "OPTIMIZER": config.optimizer,
            "PRECISION": "medium" if config.matmul_precision == "default" else config.matmul_precision,
            "SEED": self.settings.seed,
        }

    def judging(self) -> dict[str, Any]:
        """Return the tolerances by which its results are judged."""
        criteria = tables.criteria(self.config, self.settings)
        return {
            "TOLERANCE": criteria.tolerance,
            "BY_COSINE": criteria.cosine,
            "LARGER_MULTIPLIER": criteria.larger_multiplier,
            "IOU": criteria.iou,
            "SAMPLES": self.batch_size,
            "ROWS": criteria.most_samples,
            "ITERATIONS": self.settings.verify_iterations,
            "KNOWN": tuple((deviation.tensors, deviation.tolerance) for deviation in criteria.deviations),
        }

    def _environment(self) -> dict[str, str]:
        config = self.config
        if not config.xla:
            return {}
        flags = {"XLA_FLAGS": shlex.join(config.xla_flags)} if config.xla_flags else {}
        functional = {} if config.enable_functionalization else {"XLA_DISABLE_FUNCTIONALIZATION": "1"}
        return {**ACCELERATORS[config.accelerator].variables, **flags, **functional}


def of_record(record: Mapping[str, Any], *, verified: bool = False, own: OwnModel | None = None) -> FaultyExperiment:
    """Return what a record measured, or what its verification ran.

    Raises:
        UsageError: no script can run this: the record lacks what it was, or it is of a runtime without torch's own.
    """
    experiment, model = record["experiment"], record["model"]
    config_fields = {field.name for field in msgspec.structs.fields(ExperimentConfig)} - {"xla_flags", "batch_size"}
    fields = {name: value for name, value in experiment.items() if name in config_fields and value is not None}
    flags = shlex.split(experiment.get("xla_flags") or "")
    try:
        config = msgspec.convert({**model, **fields, "xla_flags": flags}, ExperimentConfig)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"The record does not say what it measured ({error}); choose a record of a run of xlabench."
        ) from None
    if any(not (_KEY.fullmatch(name) and _WORD.fullmatch(text)) for name, text in config.overrides.items()):
        raise UsageError("A compiler setting of the record contains special characters, so no script can contain it.")
    if config.torch_xla2:
        raise UsageError(
            "No script can run torch_xla2; repeat the measurement with the `reproduce` command of the record."
        )
    verification = (record.get("verification") or {}) if verified else {}
    settings = _settings(str(record.get("reproduce") or ""))
    if iterations := verification.get("iterations"):
        settings = msgspec.structs.replace(settings, verify_iterations=iterations)
    return FaultyExperiment(
        config=config,
        batch_size=verification.get("batch_size") or experiment.get("batch_size"),
        settings=settings,
        own=own,
        resolved_loss=experiment.get("resolved_loss"),
    )


def _settings(command: str) -> Settings:
    """Return what the command of a record says of its seed and tolerance."""
    seed, tolerance = _SEED.search(command), _TOLERANCE.search(command)
    usual = Settings(cosine="--cosine" in command.split())
    return msgspec.structs.replace(
        usual,
        seed=int(seed[1]) if seed else usual.seed,
        tolerance=float(tolerance[1]) if tolerance else None,
    )


def _value(text: str) -> Any:
    """Return an override as the compiler's own settings hold it."""
    words = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
