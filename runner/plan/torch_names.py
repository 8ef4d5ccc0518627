"""Names that only torch knows, checked before anything is measured: a typing error would else fail each experiment.

A name is refused where no environment of the request has it; where only some lack it, their experiments say so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runner.backends import NAMES, dynamo, xla_of
from runner.environments.machine import Machine
from runner.plan.local_request import LocalRequest
from store.errors import UsageError, did_you_mean


def check(request: LocalRequest, machines: Sequence[Machine]) -> None:
    """Check backends, optimizer and settings of the compilers. Torch is asked only about names that we do not define.

    Raises:
        UsageError: no environment has a name, or a value does not fit the setting.
    """
    _check_backends("--backend", request.selection.backend, set(NAMES), machines)
    of_dynamo = {dynamo_name for _, dynamo_name, _ in NAMES.values() if dynamo_name is not None}
    _check_backends("--dynamo", [name for name in request.selection.dynamo if name is not None], of_dynamo, machines)
    configuration = request.configuration
    if configuration.with_optimizer:
        _check_optimizer(configuration.with_optimizer, machines)
    _check_settings("dynamo", configuration.dynamo_config, machines)
    _check_settings("inductor", configuration.inductor_config, machines)


def _check_backends(flag: str, names: Sequence[str], ours: set[str], machines: Sequence[Machine]) -> None:
    for name in names:
        if name in ours or xla_of(name) is not None:
            continue
        known = {backend for machine in machines for backend in machine.dynamo_backends()}
        if known and name not in known:
            hint = did_you_mean(name, known | ours) or f" Dynamo lists {', '.join(sorted(known))}."
            raise UsageError(f"{flag} {name}: there is no backend of this name.{hint}")


def _check_optimizer(name: str, machines: Sequence[Machine]) -> None:
    known = {optimizer for machine in machines for optimizer in machine.optimizers()}
    if known and name not in known:
        hint = did_you_mean(name, known) or f" It has {', '.join(sorted(known))}."
        raise UsageError(f"--with-optimizer {name}: torch.optim has no class of this name.{hint}")


def _check_settings(room: dynamo.Room, overrides: Sequence[tuple[str, str]], machines: Sequence[Machine]) -> None:
    if not overrides:
        return
    tables = [table for machine in machines if (table := machine.compiler_settings(room))]
    for key, text in overrides:
        refused = [_refused(room, key, text, table) for table in tables]
        if refused and None not in refused:
            raise UsageError(str(refused[0]))


def _refused(room: dynamo.Room, key: str, text: str, table: Mapping[str, Any]) -> dynamo.BadOverride | None:
    try:
        dynamo.refuse_unknown(room, key, table)
        dynamo.parsed(f"--{room}-config {key}", text, table[key])
    except dynamo.BadOverride as error:
        return error
    return None
