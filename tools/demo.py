"""The history that `make demo` shows: `show HOME` serves it; `measure HOME --before PYTHON`, then `pack HOME` make it.

`measure` takes every step that is not finished yet, in order, and may be interrupted at any time: a step is one run
folder, and its command resumes it. Let nothing else run on the machine: what is disturbed is refused, and stays so.
PYTHON has torch 2.8 and torch_xla 2.8 with the packages of `constraints/xla.txt`.
`pack` writes demo/runs, without words that name the machine; `people HOME`, of a home that shows it, demo/state.sqlite.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from review_data import Words, copy_run

from runner.home import settings_file
from store import query
from store.compare.sides import resolve
from store.review import review
from store.state import FILE_NAME, marks, reviews, views
from store.state.reviews import Entry, State
from store.state.views import SavedView

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "demo"
OWN_MODEL = DEMO / "mymodel.py"
ALL_BACKENDS = tuple(f"--backend={name}" for name in ("eager", "inductor", "openxla+lazytensor", "openxla+dynamo"))
BRIEF = ("--processes=1", "--repeat=20", "--rounds=10", "--twins=0", "--accelerator=cpu")
NIGHTLY = (
    "--only=timm_models/resnet18",
    "--only=timm_models/vit_tiny_patch16_224",
    "--only=huggingface/BertTiny",
    "--test=eval",
    "--batch-size=1",
    *ALL_BACKENDS,
    *BRIEF,
)
MATRIX = (
    "--only=timm_models/resnet18",
    "--only=timm_models/mobilenetv2_100",
    "--only=timm_models/tf_efficientnet_b0",
    "--only=timm_models/vit_tiny_patch16_224",
    "--only=huggingface/BertTiny",
    "--only=huggingface/DistilBertForMaskedLM",
    "--test=eval",
    "--test=train",
    "--batch-size=1",
    *ALL_BACKENDS,
    *BRIEF,
    "--verify",
)
PASSIVE = (("OMP_WAIT_POLICY", "PASSIVE"),)
"""The setting that is changed on purpose: OpenMP's threads sleep while they wait, in place of spinning."""
OLD_TORCH_N = 4
"""Nightly runs under torch 2.8; the others are under 2.9."""
LOOP = "while True: pass"
KEPT_ARTIFACTS = ("**/*.txt", "**/*.gz", "**/*.py", "**/*.json")
LARGEST_ARTIFACT = 3 * 10**6
"""Bytes before packing."""
VERSIONS = ("nightly-04", "nightly-05")
"""The last run under torch 2.8 and the first under 2.9."""
CONFIRMED_MODEL = "vit_tiny_patch16_224"
CONFIRMATION = "confirmation"
NOTES: tuple[tuple[str, str, State, str], ...] = (
    (
        "nightly-05",
        "nightly-06",
        "known",
        "The limit of 12 s is too short for inductor's cold compile; raised in nightly-08.",
    ),
)
"""Two runs, and what somebody says of what got worse between them."""
VIEWS = (
    ("Fallback ops of our model", "fallback-ops", "labelled=own-model"),
    ("Nightly trend", "trends", "labelled=nightly"),
)
"""Saved views: name, page, parameters."""


class Step(NamedTuple):
    """One run of the history."""

    name: str
    flags: tuple[str, ...]
    old_torch: bool = False
    variables: tuple[tuple[str, str], ...] = ()
    loops: int = 0
    """Programs that keep a CPU busy meanwhile."""
    verb: str = "run"


def _nightlies() -> list[Step]:
    """Return twelve runs of one label: four under torch 2.8, then 2.9, of which two wait passively."""
    steps = []
    for number in range(1, 13):
        flags = (*NIGHTLY, "--label=nightly")
        if number in (6, 7):
            # Inductor needs longer to compile than this: a failure that is mended by a longer limit later.
            flags = (*flags, "--subprocess-timeout=12")
        steps.append(
            Step(
                f"nightly-{number:02}",
                flags,
                old_torch=number <= OLD_TORCH_N,
                variables=PASSIVE if number in (9, 10) else (),
            )
        )
    return steps


STEPS = (
    *_nightlies(),
    Step("verify-before", (*NIGHTLY, "--verify-only", "--label=verification"), old_torch=True),
    Step("verify-now", (*NIGHTLY, "--verify-only", "--label=verification")),
    Step("calibration", (*NIGHTLY, "--processes=4", "--label=calibration"), verb="calibrate"),
    Step("own-model", (str(OWN_MODEL), "--test=eval", *ALL_BACKENDS, "--processes=3", "--repeat=20", "--rounds=10",
                       "--dump-hlo", "--dump-inductor", "--dump-pytorch-profiles", "--label=own-model")),
    Step("fallbacks", (str(OWN_MODEL), "--test=eval", *ALL_BACKENDS[2:], *BRIEF, "--profile-cuda-cpu-individual-ops",
                       "--label=fallbacks")),
    Step("matrix", (*MATRIX, "--label=weekly")),
    Step("crowded", (*NIGHTLY, "--own-priority", "--no-wait-quiet", "--label=crowded"), loops=2),
    Step("operators", ("--suite-name=operators", f"--config={DEMO / 'operators.json'}", *ALL_BACKENDS, "--threads=1",
                       *BRIEF, "--label=operators")),
)  # fmt: skip


@contextlib.contextmanager
def _beside(loops: int) -> Iterator[None]:
    """Keep CPUs busy; end what was started."""
    started = [subprocess.Popen([sys.executable, "-c", LOOP], start_new_session=True) for _ in range(loops)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


def measure(home: Path, before: Path) -> int:
    """Take every step; return the number of those that did not end."""
    bad = 0
    for number, step in enumerate(STEPS, 1):
        folder = home / "runs" / step.name
        done = home / "done" / step.name
        if done.exists():
            continue
        print(f"[{number}/{len(STEPS)}] {step.name}", flush=True)
        python = before if step.old_torch else Path(sys.executable)
        command = [sys.executable, "-m", "xlabench", step.verb, "--home", str(home), "--no-ingest"]
        command += ["--output-dirname", str(folder), f"--env=torch={python}", *step.flags]
        began = time.monotonic()
        with _beside(step.loops):
            code = subprocess.run(command, env=os.environ | dict(step.variables), check=False).returncode
        print(f"    exit {code} after {time.monotonic() - began:.0f} s", flush=True)
        if code in (0, 1, 3):
            done.parent.mkdir(parents=True, exist_ok=True)
            done.touch()
        else:
            bad += 1
            if code == 130:  # noqa: PLR2004
                break
    return bad


def confirm(home: Path) -> None:
    """Measure one model under both versions again, interleaved, once every step is there."""
    folder = home / "runs" / CONFIRMATION
    if folder.exists():
        return
    xlabench = [sys.executable, "-m", "xlabench"]
    subprocess.run([*xlabench, "ingest", "--home", str(home)], check=True)
    con = query.connect(query.current_snapshot(home / "store"))
    sides = [_run_id(home, name) for name in VERSIONS]
    found = con.execute(
        "SELECT DISTINCT experiment_id FROM results WHERE run_id = ? AND model = ?", [sides[1], CONFIRMED_MODEL]
    )
    named = [f"--experiment={experiment}" for (experiment,) in found.fetchall()]
    con.close()
    subprocess.run([*xlabench, "compare", *sides, "--home", str(home), "--confirm", "all", *named], check=True)
    next((home / "runs").glob("*-confirm-*")).rename(folder)


def pack(home: Path, words: Words) -> int:
    """Write demo/ from the runs of a home; return how many words that name the machine are left."""
    for name in (*(step.name for step in STEPS), CONFIRMATION):
        if (home / "runs" / name / "run.json").exists():
            print(f"{name}: {copy_run(home / 'runs' / name, DEMO / 'runs' / name, words):,} bytes")
    for kept in KEPT_ARTIFACTS:
        for source in sorted((home / "runs" / "own-model" / "artifacts").glob(kept)):
            _copy_artifact(source, DEMO / "runs" / "own-model" / source.relative_to(home / "runs" / "own-model"), words)
    for left in sorted(words.left):
        print(f"a path of the machine is left: {left}", file=sys.stderr)
    return len(words.left)


def _copy_artifact(source: Path, target: Path, words: Words) -> None:
    """Copy a text, packed or not, with neutral words."""
    packed = source.suffix == ".gz"
    data = gzip.decompress(source.read_bytes()) if packed else source.read_bytes()
    if len(data) > LARGEST_ARTIFACT:
        return
    neutral = words.neutral(data.decode(errors="surrogateescape")).encode(errors="surrogateescape")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(neutral, mtime=0) if packed else neutral)


def people(home: Path) -> None:
    """Write what people say of the history: whoever opens the demo sees where notes, marks and saved views stand."""
    state = home / FILE_NAME
    state.unlink(missing_ok=True)
    now = marks.now()
    con = query.connect(query.current_snapshot(home / "store"))
    for old, new, word, note in NOTES:
        before, after = (resolve(con, _run_id(DEMO, name)) for name in (old, new))
        found = [each for each in review(con, before, after).findings if not each.good]
        said = {"state": word, "note": note, "who": "Ada", "verified": False, "created_at": now}
        if found:
            reviews.add(state, [Entry(subject=each.subject, what=each.what, **said) for each in found])
        print(f"{old} → {new}: {len(found)} findings with a note")
    for name, page, parameters in VIEWS:
        views.save(state, SavedView(name=name, page=page, query=parameters, who="Ada", created_at=now.isoformat(" ")))
    shutil.copy(state, DEMO / FILE_NAME)


def _run_id(home: Path, folder: str) -> str:
    facts = msgspec.json.decode((home / "runs" / folder / "run.json").read_bytes())
    return str(facts["run"]["run_id"])


def show(home: Path, port: str) -> int:
    """Lay the demo into a home, once, and serve it."""
    if not (DEMO / "runs").is_dir():
        print("demo: the folder demo/ with the measured runs is missing; it is part of a clone.", file=sys.stderr)
        return 2
    if not (home / "runs").is_dir():
        home.mkdir(parents=True, exist_ok=True)
        shutil.copytree(DEMO / "runs", home / "runs")
        for name in (FILE_NAME, settings_file.NAME):
            shutil.copy(DEMO / name, home / name)
    xlabench = [sys.executable, "-m", "xlabench"]
    code = subprocess.run([*xlabench, "ingest", "--home", str(home)], check=False).returncode
    if code:
        return code
    print("demo: real results of one machine; demo/README.md says how each run was made.", flush=True)
    os.execv(sys.executable, [*xlabench, "serve", "--home", str(home), "--port", port])  # noqa: S606 - our own words
    return 0


def main() -> int:
    """Show, measure or pack the history."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("show")
    verb.add_argument("home", type=Path)
    verb.add_argument("--port", default="8501")
    verb = verbs.add_parser("measure")
    verb.add_argument("home", type=Path)
    verb.add_argument("--before", type=Path, required=True, metavar="PYTHON")
    verb = verbs.add_parser("pack")
    verb.add_argument("home", type=Path)
    verb.add_argument("--word", action="append", default=[], metavar="OLD=NEW")
    verb = verbs.add_parser("people")
    verb.add_argument("home", type=Path)
    parsed = parser.parse_args()
    if parsed.verb == "show":
        return show(parsed.home, parsed.port)
    if parsed.verb == "measure":
        bad = measure(parsed.home, parsed.before)
        if not bad:
            confirm(parsed.home)
        return int(bad > 0)
    if parsed.verb == "people":
        people(parsed.home)
        return 0
    return int(pack(parsed.home, Words(parsed.word)) > 0)


if __name__ == "__main__":
    sys.exit(main())
