"""The instrumented process: one run under its instruments, and a list of what they left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.instrument import listing
from runner.instrument.base import Bench
from runner.instrument.limit import Limit
from runner.instrument.registry import tools_of
from runner.instrument.session import Session
from runner.messages import Instrumented

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.instrument.base import Tool
    from runner.messages import Instrument

_TEXT = 500
"""Characters of an exception that a warning holds: a C++ compiler can say a megabyte."""


def instrument(command: Instrument) -> Instrumented:
    """Run the experiment under its instruments and list what they left, also where the run fails.

    Compilation and two more blocks warm up; then min(`repeat`, 3) blocks are instrumented.
    """
    bench = Bench(command)
    with Limit(bench.folder, command.limit_bytes) as limit:
        tools = tools_of(command.instruments, bench)
        try:
            _run(bench, tools)
        except Exception as error:  # noqa: BLE001 - what was dumped before a failure explains it
            if not any(tool.expects_failure for tool in tools):
                bench.warnings.append(f"the instrumented run failed: {type(error).__name__}: {error}"[:_TEXT])
        _finish(bench, tools)
    return Instrumented(
        artifacts=listing.artifacts(bench.folder, limit.written(), limit.cut),
        metrics=bench.metrics,
        graphs=bench.graphs,
        fallback_times=bench.fallback_times,
        profiled_iteration_s=bench.profiled_iteration_s,
        call_sites=bench.call_sites,
        warnings=bench.warnings + limit.warnings(),
    )


def _run(bench: Bench, tools: Sequence[Tool]) -> None:
    for tool in tools:
        tool.prepare()
    session = Session(bench, tools)
    session.load()
    for tool in tools:
        tool.before_first()
    session.run()


def _finish(bench: Bench, tools: Sequence[Tool]) -> None:
    for tool in tools:
        try:
            tool.finish()
        except Exception as error:  # noqa: BLE001 - the other instruments' files are still good
            bench.warnings.append(f"{'/'.join(tool.names)}: {type(error).__name__}: {error}"[:_TEXT])
