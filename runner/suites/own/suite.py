"""Suite `own`: it lists the models that the command has named, and builds them. Planning imports no torch."""

from __future__ import annotations

from collections.abc import Sequence

from runner.suites.base import BuildRequest, ForcedDtype, ModelInfo, Suite, SuiteContext, TriedModel
from runner.suites.own.reference import MEASURED, OwnModelError, from_python
from runner.workload import Workload

NAME = "own"


class OwnSuite(Suite):
    """Its models are what a command names, named with the hash of their source; no plan, job or record does."""

    name: str = NAME
    preload: Sequence[str] = ("torch",)

    def models(self, context: SuiteContext) -> Sequence[ModelInfo]:
        return [_info(own_model) for own_model in context.own]

    def build(self, request: BuildRequest) -> Workload:
        from runner.suites.own.build import build

        for own_model in request.context.own:
            if own_model.model.name == request.model_name:
                return build(own_model.model, request)
        raise OwnModelError(no_source(request.model_name))


def no_source(name: str) -> str:
    """Say why a model of one's own cannot be measured from a record, plan or job."""
    if name.startswith(MEASURED):
        return from_python(name)
    return (
        f"{name} is a user's own model, and only the command that named it knows its source: "
        f"run it again on its machine with `xlabench run {name.partition('@')[0]}`."
    )


def _info(own_model: TriedModel) -> ModelInfo:
    dtypes: tuple[ForcedDtype, ...] = ()
    if own_model.dtype != "float32":
        reason = f"its weights are {own_model.dtype}"
        dtypes = (ForcedDtype(instead_of=("float32",), use=own_model.dtype, reason=reason),)
    return ModelInfo(
        name=own_model.model.name,
        dtypes=dtypes,
        tests=("eval", "train") if own_model.trains else ("eval",),
        source=own_model.source,
    )


SUITE = OwnSuite()
