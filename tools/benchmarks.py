"""Run benchmarks and write what they print to their document: `make bench` and `make trust`.

`python tools/benchmarks.py NAME … [--home DIR]` repeats benchmarks by their names, `--document benchmarks`,
`benchmarks-store` or `trust` all of a document. A section that is not repeated stays, with its own date and load. Each
benchmark measures its reference in the same run; peers run where the variables that docs/benchmarks.md names say where
their checkouts lie.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Benchmark(NamedTuple):
    """A script, and what its table says."""

    title: str
    script: str
    flags: tuple[str, ...] = ()
    markdown: bool = False
    """It prints the section as it is to stand in the document, with its own origin; else a block of text."""
    results: tuple[str, ...] = ()
    """How the lines begin that the table above all sections repeats."""


def _trust(title: str, part: str) -> Benchmark:
    return Benchmark(title, "trust.py", (part, "--home", "{home}/trust"), markdown=True)


CONFIGS = "train/compute/python/examples/pytorch/configs"
"""Where PARAM's own examples lie in its checkout."""
DOCUMENTS = {
    "benchmarks": {
        "overhead": Benchmark(
            "Cost of a run compared with PyTorch/XLA's runner", "overhead.py", results=("ratio peer/xlabench: ",)
        ),
        "harness": Benchmark(
            "Command lines of the TorchDynamo harness", "harness_peer.py", results=("ratio harness/xlabench: ",)
        ),
        "operators": Benchmark(
            "Single operators compared with PARAM",
            "operators_peer.py",
            (f"$PARAM_DIR/{CONFIGS}/mm.json", "--rounds", "5", "-w", "5", "-i", "20"),
            results=("alone: ",),
        ),
        "start": Benchmark(
            "From a request to the first iteration",
            "start.py",
            results=("eager: ", "inductor: ", "openxla+lazytensor: "),
        ),
        "jobs": Benchmark("From a click to the process of a job", "jobs.py", results=("submit to ",)),
        "own-model": Benchmark(
            "Your own model compared with torch.utils.benchmark and hyperfine", "own_model.py", results=("latency, ",)
        ),
    },
    "benchmarks-store": {
        "ingest": Benchmark(
            "Ingest of a million records compared with DuckDB's own reader",
            "ingest.py",
            results=("validated ingest: ", "rebuild of ", "200,000 records of ", "the peer's "),
        ),
        "queries": Benchmark(
            "Queries over a million records", "queries.py", ("--home", "{home}/bench"), results=("slowest p95: ",)
        ),
        "pages": Benchmark(
            "Pages over a million records beside a bare page",
            "pages.py",
            ("--home", "{home}/pages"),
            results=("slowest p95 ", "server "),
        ),
    },
    "trust": {
        "aa": _trust("Identical experiments", "aa"),
        "disturbed": _trust("Identical experiments beside another process that bursts", "disturbed"),
        "ab": _trust("Known differences", "ab"),
        "cost": _trust("The harness's own cost", "cost"),
        "versions": _trust("Torch 2.9.1 with torch_xla 2.9.0 against 2.8", "versions"),
        "arrangement": _trust("Rounds and blocks of a turn", "arrangement"),
    },
}
"""Benchmarks by the document under docs/ that they write, in its order."""


def main() -> int:
    """Run the benchmarks; return 1 where one missed an aim or ended with an error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="repeat these, whatever their document (default: all of the document)"
    )
    parser.add_argument("--document", choices=DOCUMENTS, default="benchmarks")
    parser.add_argument("--home", default="xlabench-data")
    parsed = parser.parse_args()
    document_of = {name: document for document, benchmarks in DOCUMENTS.items() for name in benchmarks}
    unknown = [name for name in parsed.names if name not in document_of]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(document_of)}")
    missed = 0
    for name in parsed.names or DOCUMENTS[parsed.document]:
        benchmarks = DOCUMENTS[document_of[name]]
        document = ROOT / "docs" / f"{document_of[name]}.md"
        titles = [each.title for each in benchmarks.values()]
        code, text = _run(benchmarks[name], parsed.home)
        if not benchmarks[name].markdown or (code == 0 and text.strip()):
            _write(document, titles, benchmarks[name].title, text)
            _summarize(document, benchmarks.values())
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
    if benchmark.markdown:
        return process.returncode, process.stdout.strip() + "\n"
    minutes = (time.monotonic() - began) / 60
    typed = " ".join([*command[:2], *benchmark.flags]).format(home="HOME")  # the folder of this run says nothing
    outcome = (
        "" if process.returncode == 0 else f" It ended with {process.returncode}: an aim was missed, or it failed."
    )
    return process.returncode, (
        f"`{typed}` · {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {minutes:.0f} min · {_machine()} · "
        f"load {before:.1f} before, {os.getloadavg()[0]:.1f} after.{outcome}\n\n"
        f"```text\n{process.stdout.strip()}\n```\n"
    )


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "torch_xla", "duckdb", "streamlit"))
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB; {packages}"


def _write(document: Path, titles: list[str], title: str, text: str) -> None:
    """Put a section in the place of its earlier one, in the order of the titles; what is above them stays."""
    old = document.read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (.+?)\n\n(.*?)(?=^## |\Z)", old, re.MULTILINE | re.DOTALL)) | {title: text}
    head = old.partition("\n## ")[0]
    body = "".join(f"\n## {each}\n\n{sections[each].strip()}\n" for each in titles if each in sections)
    document.write_text(head + body, encoding="utf-8")


_SUMMARY = re.compile(r"(?<=<!-- summary -->\n).*?(?=<!-- /summary -->)", re.DOTALL)
"""Where a document has the table of all results."""


def _summarize(document: Path, benchmarks: Iterable[Benchmark]) -> None:
    """Write the table of all results from the sections; a document without a place for it has none."""
    text = document.read_text(encoding="utf-8")
    rows = ["| what | results | measured |", "|---|---|---|"]
    for benchmark in benchmarks:
        section = text.partition(f"\n## {benchmark.title}\n")[2].partition("\n## ")[0]
        lines = [line.strip() for line in section.splitlines() if line.startswith(benchmark.results or ("\0",))]
        if lines:
            place = re.sub(r"[^\w -]", "", benchmark.title.lower()).replace(" ", "-")
            day = re.search(r"· (\d{4}-\d\d-\d\d)", section)
            rows.append(f"| [{benchmark.title}](#{place}) | {'<br>'.join(lines)} | {day[1] if day else ''} |")
    document.write_text(_SUMMARY.sub(lambda _: "\n" + "\n".join(rows) + "\n\n", text), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
