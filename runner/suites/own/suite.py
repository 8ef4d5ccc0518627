"""Suite `own`: it lists the models that the command has named, and builds them. Planning imports no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.suites.base import BuildRequest, ForcedDtype, ModelInfo, SuiteContext
from runner.suites.own.reference import MEASURED, OwnModelError, from_python

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.suites.base import OwnFound
    from runner.workload import Workload

NAME = "own"


class OwnSuite:
    """Its models are what a command names; a plan, job or record names none."""

    name: str = NAME
    preload: Sequence[str] = ("torch",)

    def unavailable(self, context: SuiteContext) -> str | None:  # noqa: ARG002 - part of the protocol
        """Return None: without a model that was named there are none."""
        return None

    def models(self, context: SuiteContext) -> Sequence[ModelInfo]:
        """List the models that were named."""
        return [_info(found) for found in context.own]

    def versions(self, context: SuiteContext) -> Mapping[str, str]:  # noqa: ARG002 - part of the protocol
        """Return nothing: the name of a model holds the hash of its source."""
        return {}

    def build(self, request: BuildRequest) -> Workload:
        """Build the model whose source the context holds."""
        from runner.suites.own.build import build

        for found in request.context.own:
            if found.model.name == request.model_name:
                return build(found.model, request)
        raise OwnModelError(no_source(request.model_name))


def no_source(name: str) -> str:
    """Say why a model of one's own cannot be measured from a record, plan or job."""
    if name.startswith(MEASURED):
        return from_python(name)
    return (
        f"{name} is a model of somebody's own, and its source is known only to the command that names it: "
        f"run it again on its machine with `xlabench run {name.partition('@')[0]}`."
    )


def _info(found: OwnFound) -> ModelInfo:
    dtypes: tuple[ForcedDtype, ...] = ()
    if found.dtype != "float32":
        reason = f"its weights are {found.dtype}"
        dtypes = (ForcedDtype(instead_of=("float32",), use=found.dtype, reason=reason),)
    return ModelInfo(
        name=found.model.name,
        dtypes=dtypes,
        tests=("eval", "train") if found.trains else ("eval",),
        source=found.source,
    )


SUITE = OwnSuite()
