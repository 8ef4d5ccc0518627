"""Run the benchmarks and write what they print to docs/benchmarks.md: `make bench`, or name some to repeat only them.

`python tools/benchmarks.py [NAME …] [--home DIR]`. A section that is not repeated stays, with its own date and load.
Each benchmark measures its reference in the same run; peers run where the variables that docs/benchmarks.md names say
where their checkouts lie.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "benchmarks.md"


class Benchmark(NamedTuple):
    """A script, and what its table says."""

    title: str
    script: str
    flags: tuple[str, ...] = ()


CONFIGS = "train/compute/python/examples/pytorch/configs"
"""Where PARAM's own examples lie in its checkout."""
BENCHMARKS = {
    "overhead": Benchmark("Cost of a run beside PyTorch/XLA's runner", "overhead.py"),
    "harness": Benchmark("Command lines of the TorchDynamo harness", "harness_peer.py"),
    "operators": Benchmark(
        "Single operators beside PARAM",
        "operators_peer.py",
        (f"$PARAM_DIR/{CONFIGS}/mm.json", "--rounds", "5", "-w", "5", "-i", "20"),
    ),
    "start": Benchmark("From a request to the first iteration", "start.py"),
    "jobs": Benchmark("From a click to the process of a job", "jobs.py"),
    "own-model": Benchmark("A model of one's own beside torch.utils.benchmark and hyperfine", "own_model.py"),
    "ingest": Benchmark("Ingest of a million records beside DuckDB's own reader", "ingest.py"),
    "queries": Benchmark("Queries over a million records", "queries.py", ("--home", "{home}/bench")),
    "pages": Benchmark("Pages over a million records beside a bare page", "pages.py", ("--home", "{home}/pages")),
}


def main() -> int:
    """Run the benchmarks; return 1 where one missed an aim or ended with an error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--home", default="xlabench-data")
    parsed = parser.parse_args()
    unknown = [name for name in parsed.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    missed = 0
    for name in parsed.names or BENCHMARKS:
        code, text = _run(BENCHMARKS[name], parsed.home)
        _write(BENCHMARKS[name].title, text)
        missed |= code != 0
    return missed


def _run(benchmark: Benchmark, home: str) -> tuple[int, str]:
    """Run one; return its exit code and its section."""
    command = ["python", f"tests/performance/{benchmark.script}", *(flag.format(home=home) for flag in benchmark.flags)]
    print(" ".join(command), flush=True)
    before, began = os.getloadavg()[0], time.monotonic()
    words = [sys.executable, *map(os.path.expandvars, command[1:])]
    process = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    print(process.stdout, flush=True)
    minutes = (time.monotonic() - began) / 60
    outcome = (
        "" if process.returncode == 0 else f" It ended with {process.returncode}: an aim was missed, or it failed."
    )
    return process.returncode, (
        f"`{' '.join(command)}` · {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {minutes:.0f} min · {_machine()} · "
        f"load {before:.1f} before, {os.getloadavg()[0]:.1f} after.{outcome}\n\n"
        f"```text\n{process.stdout.strip()}\n```\n"
    )


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "torch_xla", "duckdb", "streamlit"))
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB; {packages}"


def _write(title: str, text: str) -> None:
    """Put a section in the place of its earlier one, in the order of the benchmarks; what is above them stays."""
    old = DOCUMENT.read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (.+?)\n\n(.*?)(?=^## |\Z)", old, re.MULTILINE | re.DOTALL)) | {title: text}
    ordered = [each.title for each in BENCHMARKS.values() if each.title in sections]
    head = old.partition("\n## ")[0]
    body = "".join(f"\n## {each}\n\n{sections[each].strip()}\n" for each in ordered)
    DOCUMENT.write_text(head + body, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
