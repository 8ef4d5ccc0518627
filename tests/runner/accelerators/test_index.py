"""`--device-index`: refused where it chooses nothing, and part of the record where it does."""

import dataclasses

import pytest
from runner_makers import ended, entry, facts, machine, settings

from runner.schedule.records import make_record
from tests.command import xlabench


@pytest.mark.parametrize("flag", ["--device-index", "--card"])
def test_a_second_cpu_is_refused_before_anything_runs(flag, tmp_path):
    words = ("run", "--suite-name", "dummy", "--accelerator", "cpu", flag, "2", "--home", tmp_path)
    done = xlabench(*words, code=2)
    assert "--device-index 2: cpu has one device for a process, index 0" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_record_names_the_device_that_was_chosen():
    """Two cards of one machine may differ."""
    here = machine(accelerators={"cpu": "x", "cuda": "One of A, B"})
    here = dataclasses.replace(here, devices={"cuda": ("A", "B")})
    of = entry(accelerator="cuda")
    chosen = facts(settings=settings(device_index=1), accelerators=here.models(1))
    found = make_record(of, chosen, ended()).experiment
    assert (found.device_index, found.accelerator_model) == (1, "B")
    usual = facts(accelerators=here.models(None))
    found = make_record(of, usual, ended()).experiment
    assert (found.device_index, found.accelerator_model) == (None, "One of A, B")
