"""Measure with the real command into a home; a folder that is there already is resumed, a finished one left alone."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_BURST = """
import random, sys, time
chance = random.Random(int(sys.argv[1]))
while True:
    end = time.monotonic() + chance.expovariate(1 / float(sys.argv[2]))
    while time.monotonic() < end:
        pass
    time.sleep(chance.expovariate(1 / float(sys.argv[2])))
"""


@dataclass(frozen=True)
class Trials:
    """A home, and how much of the usual amount is measured."""

    home: Path
    scale: float = 1.0

    def times(self, count: int, least: int = 1) -> int:
        """Return `count` at this scale."""
        return max(least, round(count * self.scale))

    def folder(self, name: str) -> Path:
        return self.home / "runs" / name

    def measure(self, verb: str, name: str, *words: str, **variables: str) -> Path:
        """Carry out `xlabench VERB` into the folder `name`; its output goes to a log beside the runs."""
        folder = self.folder(name)
        began = time.monotonic()
        self.xlabench(verb, *words, "--label", name, "--output-dirname", str(folder), log=name, **variables)
        print(f"  {name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        return folder

    def calibrate(self, name: str, *words: str, backends: Mapping[str, Sequence[str]]) -> None:
        """Calibrate by one command for each part of `backends`: not all can be measured by the same."""
        for part, own in backends.items():
            self.measure("calibrate", f"{name}-{part}", *words, *own)

    def folders(self, name: str, backends: Mapping[str, Sequence[str]]) -> list[Path]:
        """Return the folders that `calibrate` measured into."""
        return [self.folder(f"{name}-{part}") for part in backends]

    def xlabench(self, *words: str, log: str, **variables: str) -> str:
        """Run the command and return what it says; it has to succeed."""
        self.home.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "xlabench", words[0], "--home", str(self.home), *words[1:]]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
        with (self.home / f"{log}.log").open("a") as sink:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=sink, text=True, check=False
            )
        if done.returncode:
            raise SystemExit(f"{' '.join(words)}: exit code {done.returncode}; see {self.home / log}.log")
        return done.stdout


@contextlib.contextmanager
def bursts(mean_s: float = 0.3, seed: int = 1) -> Iterator[None]:
    """Have another process work and rest in turn, each for a random time of this mean."""
    other = subprocess.Popen([sys.executable, "-c", _BURST, str(seed), str(mean_s)])
    try:
        yield
    finally:
        other.kill()
        other.wait()
