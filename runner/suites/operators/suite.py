"""Suite `operators`: single operators from PARAM's configurations, through every backend."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from runner.suites.base import BuildRequest, ModelInfo, Suite, SuiteContext
from runner.suites.operators import document
from runner.suites.operators.expand import Case, expand
from runner.workload import Workload

NAME = "operators"


class OperatorSuite(Suite):
    """Its models are the cases of the configurations that `--config` names; a plan holds the configurations themselves.

    An operator that lacks a package reports that itself.
    """

    name: str = NAME
    preload: Sequence[str] = ("torch",)

    def models(self, context: SuiteContext) -> Sequence[ModelInfo]:
        """List one model per case, in the order of the files."""
        how = {"discrete": context.discrete, "clear_cache": context.clear_cache}
        return [_info(case.timed(**how)) for case in cases(context.operator_configs)]

    def build(self, request: BuildRequest) -> Workload:
        from runner.suites.operators.build import build

        return build(request)


SUITE = OperatorSuite()


def cases(configs: Sequence[str]) -> list[Case]:
    """Return the cases of all configurations: paths of files, or their JSON itself.

    Raises:
        ConfigError: one cannot be used.
    """
    return _cases(tuple(document.text_of(config) for config in configs))


@lru_cache(maxsize=4)
def _cases(texts: tuple[document.Text, ...]) -> list[Case]:
    # Planning calls this once per environment.
    return expand(*map(document.of_text, texts))


def _info(case: Case) -> ModelInfo:
    return ModelInfo(
        name=case.name,
        aliases=(case.param_id,),
        skips={"train": case.no_backward} if case.no_backward else {},
        missing=case.missing,
        operator=case.operator,
        used_by=case.used_by,
    )
