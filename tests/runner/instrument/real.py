"""Measure and instrument in real processes, without a scheduler: one command in, one answer out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
from runner_makers import config, settings

from runner import instrument
from runner.backends import backend_of
from runner.messages import Instrument, Instrumented, Load, Report

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 300
_CODE = """
import sys
import msgspec
from runner.messages import Instrument, Load
data = open(sys.argv[1], "rb").read()
if sys.argv[3] == "inductor":
    from runner.process import toolchain
    toolchain.prepare()
if sys.argv[2] == "instrument":
    from runner.instrument.process import instrument
    answer = instrument(msgspec.msgpack.decode(data, type=Instrument))
else:
    from runner.process.measure import Measurement
    measurement = Measurement(msgspec.msgpack.decode(data, type=Load))
    measurement.load()
    measurement.first()
    measurement.exactly(8)
    answer = measurement.report(finished=True)
open(sys.argv[1] + ".answer", "wb").write(msgspec.msgpack.encode(answer))
import os
sys.stdout.flush()
os._exit(0)
"""


def load_of(experiment, chosen) -> Load:
    return Load(
        config=experiment, settings=chosen, batch_size=experiment.batch_size, torchbench_dir=None, requested_at=0.0
    )


def run_passes(folder, backend, *instruments, failed=False, limit=1 << 30, fields=None, **chosen):
    """Carry out every pass that these instruments ask for; return what each found, by its name."""
    experiment = config(backend, **(fields or {}))
    wanted = settings(instruments=instruments, **{"repeat": 2, **chosen})
    found = {}
    for each in instrument.passes(experiment, wanted, failed=failed):
        command = Instrument(
            load=load_of(experiment, wanted), instruments=each.instruments, folder=str(folder), limit_bytes=limit
        )
        variables = {**variables_of(experiment, folder), **each.variables(experiment, folder, {})}
        found[each.name] = _answer(folder, "instrument", command, variables, Instrumented)
    return found


def measured(folder, backend, *, fields=None, **chosen) -> Report:
    """Measure as the timed process does."""
    experiment = config(backend, **(fields or {}))
    command = load_of(experiment, settings(**chosen))
    return _answer(folder, "measure", command, variables_of(experiment, folder), Report)


def variables_of(experiment, folder):
    scratch = folder.with_name(folder.name + "-scratch")
    return dict(backend_of(experiment.xla, experiment.dynamo).variables(experiment, scratch))


def _answer(folder, what, command, variables, kind):
    dynamo = (command.load if what == "instrument" else command).config.dynamo
    place = folder.with_name(f"{folder.name}-{what}-command")
    place.write_bytes(msgspec.msgpack.encode(command))
    done = subprocess.run(
        [sys.executable, "-c", _CODE, str(place), what, dynamo or ""],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return msgspec.msgpack.decode(Path(f"{place}.answer").read_bytes(), type=kind)
