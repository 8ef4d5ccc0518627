"""The settings of a run: the request's protocol, its plan file's settings and the preset's defaults, in this order."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from runner.plan.agreement import agreeing
from runner.plan.presets import PROCESSES, REPEATS
from runner.plan.request import Protocol
from runner.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Collection

    from runner.plan.local_request import LocalRequest
    from runner.settings import ProveMode

QUIET = "XLABENCH_QUIET"
"""Environment variable; `off`: turns are not judged, priorities are left alone, and proofs are taken on request only.

Tests want it so on any machine.
"""
_NAMES = {
    **{name: name for name in Protocol.__struct_fields__ if name in Settings.__struct_fields__},
    "time_budget": "time_budget_s",
    "subprocess_timeout": "timeout_s",
    "memory_limit": "memory_limit_bytes",
    "artifact_limit": "artifact_limit_bytes",
    "no_wait_quiet": "wait_quiet",
    "own_priority": "raise_priority",
    "verify_only": "verify",
}
"""Fields of a protocol → settings."""
_APART = ("verify", "verify_only", "prove", "instruments", "no_wait_quiet", "own_priority", "subprocess_timeout")
"""Fields that become another value."""


def settings(asked: LocalRequest) -> Settings:
    """Return the settings of a request's run.

    Raises:
        UsageError: they do not agree.
    """
    found = _of_protocol(asked)
    plan = asked.request.plan
    if plan is not None:
        found = with_plan(found, plan.settings, asked.given)
    return agreeing(found)


def _of_protocol(asked: LocalRequest) -> Settings:
    protocol, preset, smoke = asked.protocol, asked.configuration.preset, asked.selection.smoke
    watched = os.environ.get(QUIET) != "off"
    fields: dict[str, Any] = {"repeat": REPEATS[preset], "processes": 1 if smoke else PROCESSES[preset]}
    for name, setting in _NAMES.items():
        if name not in _APART and (value := getattr(protocol, name)) is not None:
            fields[setting] = value
    if protocol.subprocess_timeout is not None:
        fields["timeout_s"] = float(protocol.subprocess_timeout)
    return Settings(
        **fields,
        preset=preset,
        quiet=watched and not asked.quick,
        wait_quiet=not protocol.no_wait_quiet,
        raise_priority=not protocol.own_priority and watched,
        verify="only" if protocol.verify_only else "with" if protocol.verify or smoke else "off",
        prove=_prove(asked, watched=watched),
        instruments=(*protocol.instruments, *(("save_ir",) if protocol.save_ir_format else ())),
        print_subprocess=asked.print_subprocess,
    )


def _prove(asked: LocalRequest, *, watched: bool) -> ProveMode:
    """Say whether timing proofs are needed: of presets that count as another harness, on request only."""
    if asked.protocol.prove:
        return "again"
    if asked.quick:
        return "off"
    return "once" if asked.configuration.preset == "xlabench" and watched else "off"


def with_plan(found: Settings, in_file: dict[str, Any], given: Collection[str]) -> Settings:
    """Return the settings of the flags, and those of a plan where the flags leave them open.

    Args:
        found: those of the flags.
        in_file: the plan's, checked when it was read.
        given: fields of the request that were typed.
    """
    typed = {_NAMES.get(name, name) for name in given} | ({"instruments"} if "save_ir_format" in given else set())
    wanted = {name: value for name, value in in_file.items() if name not in typed}
    for name, of_preset in (("repeat", REPEATS), ("processes", PROCESSES)):
        if name not in typed and "preset" in wanted:
            wanted.setdefault(name, of_preset[wanted["preset"]])
    checked = msgspec.convert(wanted, Settings)
    return msgspec.structs.replace(found, **{name: getattr(checked, name) for name in wanted})


def protocol_of(settings: Settings) -> Protocol:
    """Return the protocol under which one experiment is measured as by these settings: what is not usual is given."""
    usual, fields = Settings(), {}
    for name, setting in _NAMES.items():
        value = getattr(settings, setting)
        if name not in _APART and value != getattr(usual, setting):
            fields[name] = value
    for of_whole_run in ("twins", "until_verdict", *(("time_budget",) if settings.until_stable is None else ())):
        fields.pop(of_whole_run, None)
    if settings.timeout_s != usual.timeout_s:
        fields["subprocess_timeout"] = int(settings.timeout_s)
    return Protocol(
        **{"repeat": settings.repeat, "processes": settings.processes, **fields},
        no_wait_quiet=not settings.wait_quiet,
        own_priority=not settings.raise_priority,
        verify=settings.verify == "with",
        verify_only=settings.verify == "only",
        # The IR is saved wherever its form is named.
        instruments=tuple(name for name in settings.instruments if name != "save_ir"),  # type: ignore[misc]
    )
