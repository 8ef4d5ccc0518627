"""Measure and instrument in real processes of a warm server, without a scheduler: one conversation, one answer."""

import os
import time

import pytest
from runner_makers import config, settings

from runner.backends import backend_of
from runner.environments.machine import detect
from runner.instrument import passes as instrument
from runner.messages import Exactly, Finish, Instrument, Load

NEEDS = [
    pytest.mark.slow,
    # Asked of the packages' metadata: to import it here takes each worker seconds, whether or not it has such a test.
    pytest.mark.skipif("torch_xla" not in detect().packages, reason="torch_xla is needed"),
]
PATIENCE_S = 300
BLOCKS = 8


def load_of(experiment, chosen) -> Load:
    return Load(
        config=experiment, settings=chosen, batch_size=experiment.batch_size, torchbench_dir=None, requested_at=0.0
    )


def run_passes(pool, folder, backend, *instruments, failed=False, limit=1 << 30, fields=None, **chosen):
    """Carry out every pass that these instruments ask for; return what each found, by its name."""
    experiment = config(backend, **(fields or {}))
    wanted = settings(instruments=instruments, **{"repeat": 2, **chosen})
    found = {}
    for each in instrument.passes(experiment, wanted, failed=failed):
        command = Instrument(
            load=load_of(experiment, wanted), instruments=each.instruments, folder=str(folder), limit_bytes=limit
        )
        variables = {**variables_of(experiment, folder), **each.variables(experiment, folder)}
        found[each.name] = _last_answer(pool, folder, variables, command)
    return found


def measured(pool, folder, backend, *, fields=None, **chosen):
    """Measure as the timed process does; return its report."""
    experiment = config(backend, **(fields or {}))
    commands = (load_of(experiment, settings(**chosen)), Exactly(BLOCKS), Finish())
    return _last_answer(pool, folder, variables_of(experiment, folder), *commands)


def variables_of(experiment, folder):
    scratch = folder.with_name(folder.name + "-scratch")
    suites = {name: value for name, value in os.environ.items() if name == "XLABENCH_SUITES"}
    return {**backend_of(experiment.xla, experiment.dynamo).variables(experiment, scratch), **suites}


def _last_answer(pool, folder, variables, *commands):
    process = pool.spawn(variables, folder.with_name(f"{folder.name}.log"))
    try:
        for command in commands:
            answer = pool.ask(process, command, time.monotonic() + PATIENCE_S, lambda _phase: None)
    finally:
        pool.end(process)
    return answer
