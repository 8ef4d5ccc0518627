"""What the suites of tests have in common."""

from runner.suites.base import SuiteContext


class PlainSuite:
    """A suite that is there, imports nothing beforehand and has no versions."""

    preload = ()

    def unavailable(self, context: SuiteContext) -> str | None:
        return None

    def versions(self, context: SuiteContext) -> dict[str, str]:
        return {}
