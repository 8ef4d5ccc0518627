"""PARAM's configuration files in all four backends, forward and backward, and the number of cases beside PARAM's own.

By file: the cases that our plan and PARAM's code expand it to, by their ids; then `xlabench run` over as many of the
cases as `--most` allows, evenly chosen, and every case of the file in one process per backend through the library.
$PARAM_DIR names a checkout of github.com/facebookresearch/param.
`python tests/performance/operators_configs.py FOLDER [--most 4] [--timeout 600] [--only NAME …] [--no-library]`
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from operator_parts import param

ROOT = Path(__file__).resolve().parents[2]
BACKENDS = ("eager", "inductor", "openxla+lazytensor", "openxla+dynamo")
RAN = ("ok", "never_steady")
"""Two blocks are enough to see that it runs; whether they are steady is another question."""


@dataclass
class Outcomes:
    """What became of the experiments of a file."""

    ran: Counter[str] = field(default_factory=Counter)
    """By `backend test`."""
    planned: Counter[str] = field(default_factory=Counter)
    others: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Cells by the reason for which they did not run."""

    def add(self, backend: str, test: str, reason: str | None) -> None:
        cell = f"{backend} {test}"
        self.planned[cell] += 1
        if reason is None:
            self.ran[cell] += 1
        else:
            self.others[reason].append(cell)

    def lines(self, title: str) -> list[str]:
        """Return a line with all cells, and one per reason."""
        cells = [
            f"{backend} {'/'.join(self._cell(f'{backend} {test}') for test in ('eval', 'train'))}"
            for backend in BACKENDS
        ]
        reasons = [
            f"    {len(each)} x {reason} ({', '.join(sorted(set(each)))})" for reason, each in self.others.items()
        ]
        return [f"  {title}: {'; '.join(cells)}", *reasons]

    def _cell(self, key: str) -> str:
        return f"{self.ran[key]} of {self.planned[key]}"


def planned(file: Path) -> list[tuple[str, str]]:
    """Return PARAM's id and our name of each case of our own plan, in its order."""
    from runner.suites.operators import expand

    given = ["--suite-name", "operators", "--config", str(file), "--accelerator", "cpu", "--test", "eval"]
    command = [
        sys.executable,
        "-m",
        "xlabench",
        "plan",
        "--format",
        "json",
        *given,
        "--xla",
        "None",
        "--dynamo",
        "None",
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    names = [entry["config"]["model_name"] for entry in json.loads(done.stdout)["plan"]]
    ids = {case.name: case.param_id for case in expand(file)}
    return [(ids[name], name) for name in names]


def by_command(file: Path, names: list[str], timeout: int, home: Path) -> Outcomes:
    """Run cases through `xlabench run`, a process for each experiment."""
    folder = home / "runs" / file.stem
    words = ["--suite-name", "operators", "--config", str(file), "--accelerator", "cpu", "--home", str(home)]
    words += ["--processes", "1", "--repeat", "2", "--preset", "peer", "--interleave", "off", "--twins", "0"]
    words += ["--subprocess-timeout", str(timeout), "--no-ingest", "--output-dirname", str(folder), "--threads", "1"]
    words += [word for name in names for word in ("--only", name)]
    done = subprocess.run(
        [sys.executable, "-m", "xlabench", "run", *words], check=False, stderr=subprocess.PIPE, cwd=ROOT
    )
    if done.returncode not in {0, 3}:
        sys.exit(f"xlabench run ended with {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    found = Outcomes()
    for line in (folder / "results.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        reason = None if record["status"] in RAN else f"{record['status']}: {_why(record)}"
        found.add(record["variant"].split(" ")[0], record["experiment"]["test"], reason)
    return found


def _why(record: dict[str, object]) -> str:
    error = record.get("error")
    text = error["message"] if isinstance(error, dict) else record.get("skip_reason") or "no reason is written"
    return (str(text).strip().splitlines() or ["no words"])[0]


def in_one_process(file: Path, timeout: int) -> Outcomes:
    """Run every case through the library, one process per backend."""
    script = Path(__file__).parent / "operator_parts" / "every_case.py"
    found = Outcomes()
    for backend in BACKENDS:
        command = [sys.executable, str(script), backend, str(file), str(timeout)]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                told = json.loads(line)
                found.add(backend, told["test"], None if told["became"] == "ran" else told["became"])
        if done.returncode != 0:
            found.others[f"the process ended with {done.returncode}: {done.stderr.strip()[-200:]}"].append(backend)
    return found


def chosen(names: list[str], most: int) -> list[str]:
    """Return at most so many of them, evenly, the first and the last always."""
    if len(names) <= most:
        return names
    return [names[round(place * (len(names) - 1) / (most - 1))] for place in range(most)]


def report(file: Path, options: argparse.Namespace, scratch: Path) -> bool:
    """Print what a file gave; say whether both expand it alike and all that is planned ran."""
    (theirs_at := scratch / f"theirs-{file.stem}").mkdir()
    ours, theirs = planned(file), param.expanded(file, theirs_at)
    same = [each for each, _ in ours] == theirs
    print(
        f"{file.name}: {len(ours)} cases, PARAM's own {len(theirs)}, ids {'equal' if same else 'DIFFERENT'}", flush=True
    )
    names = chosen([name for _, name in ours], options.most)
    limited = f"{len(names)} of {len(ours)} cases" if len(names) < len(ours) else "every case"
    every = [(f"xlabench run, {limited}", by_command(file, names, options.timeout, scratch))]
    if options.library:
        every.append(("library, every case", in_one_process(file, options.timeout)))
    for title, outcomes in every:
        print("\n".join(outcomes.lines(title)), flush=True)
    unexpected = [reason for _, each in every for reason in each.others if not reason.startswith("skipped")]
    return same and not unexpected


def main() -> None:
    """Print the table; exit 1 where something differs or did not run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int, default=4, help="cases of a file that `xlabench run` measures (at least 2)")
    parser.add_argument("--timeout", type=int, default=600, help="seconds of one experiment")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="files, without .json")
    parser.add_argument("--no-library", dest="library", action="store_false", help="`xlabench run` alone")
    options = parser.parse_args()
    param.checkout()
    files = [each for each in sorted(options.folder.glob("*.json")) if not options.only or each.stem in options.only]
    with tempfile.TemporaryDirectory() as folder:
        alike = [report(file, options, Path(folder)) for file in files]
    sys.exit(0 if files and all(alike) else 1)


if __name__ == "__main__":
    main()
