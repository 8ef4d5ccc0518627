"""Make a fixed data set of run folders that were measured: `python tools/review_data.py OUTDIR RUN… --word OLD=NEW`.

Each RUN gives OUTDIR/runs/NAME with run.json and results.jsonl.zst. Words that name a person's machine are replaced, by
the given rules and by those here; no number is changed, and the tool ends with 1 where a path of the machine is left.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

HOST = "bench-1"
PLATFORM = "Linux"
_NUMBERS_KEPT = (int, float)
_RULES = (
    (re.compile(r"[^\s\"'=,:()]*/site-packages/"), "site-packages/"),
    (re.compile(r"/\w+/(?:xlabench-\w+|torchinductor_\w+|tmp\w+)"), "/scratch"),
    (re.compile(r"[^\s\"'=,:()]*/lib/(python3\.\d+)/"), r"\1/"),
)
_LEFT = re.compile(r"/(?:home|root|tmp|work|Users|private|mnt|data)/[^\s\"']*")


class Words:
    """Replaces what names the machine, and remembers what it could not."""

    def __init__(self, given: list[str]) -> None:
        self.given = [tuple(each.split("=", 1)) for each in given]
        self.left: set[str] = set()

    def neutral(self, value: Any, key: str = "") -> Any:
        """Return the value with other words; numbers as they are."""
        if isinstance(value, dict):
            return {self._text(name): self.neutral(each, name) for name, each in value.items()}
        if isinstance(value, list):
            return [self.neutral(each, key) for each in value]
        if not isinstance(value, str):
            return value
        if key == "host":
            return HOST
        return PLATFORM if key == "platform" else self._text(value)

    def _text(self, text: str) -> str:
        for old, new in self.given:
            text = text.replace(old, new)
        for pattern, new in _RULES:
            text = pattern.sub(new, text)
        self.left.update(_LEFT.findall(text))
        return text


def copy_run(run: Path, target: Path, words: Words) -> int:
    """Write one run folder of the data set; returns its size in bytes."""
    target.mkdir(parents=True, exist_ok=True)
    facts = words.neutral(msgspec.json.decode((run / "run.json").read_bytes()))
    (target / "run.json").write_bytes(msgspec.json.format(msgspec.json.encode(facts), indent=1) + b"\n")
    packed = target / "results.jsonl.zst"
    with pa.CompressedOutputStream(str(packed), "zstd") as file:
        for line in (run / "results.jsonl").read_bytes().splitlines():
            before = msgspec.json.decode(line)
            after = words.neutral(before)
            if _numbers(before) != _numbers(after):
                raise ValueError(f"{run}: a number would change in {line[:80]!r}")
            file.write(msgspec.json.encode(after) + b"\n")
    return sum(each.stat().st_size for each in target.iterdir())


def _numbers(value: Any) -> list[float]:
    """Return every number of a record in order."""
    if isinstance(value, dict):
        return [number for each in value.values() for number in _numbers(each)]
    if isinstance(value, list):
        return [number for each in value for number in _numbers(each)]
    return [value] if isinstance(value, _NUMBERS_KEPT) else []


def main() -> int:
    """Copy the runs; print their sizes and what is left of the machine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("outdir", type=Path)
    parser.add_argument("runs", nargs="+", metavar="NAME=RUN", help="name in the data set, and the folder of the run")
    parser.add_argument("--word", action="append", default=[], metavar="OLD=NEW")
    parsed = parser.parse_args()
    words = Words(parsed.word)
    for each in parsed.runs:
        name, _, run = each.partition("=")
        size = copy_run(Path(run), parsed.outdir / "runs" / name, words)
        print(f"{name}: {size} bytes")
    for left in sorted(words.left):
        print(f"a path of the machine is left: {left}", file=sys.stderr)
    return int(bool(words.left))


if __name__ == "__main__":
    sys.exit(main())
