"""Run the peer's own `benchmarks/aggregate.py`, where a checkout of it is at hand."""

import base64
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.store.peer_records import DYNAMO, peer_record

_CHECK = re.compile(r"def clean_up_accelerator_model\(model: str\) -> str:\n(?:  .*\n)+")
_REPLACED = """def clean_up_accelerator_model(model: str) -> str:
  name = os.environ['ACCELERATOR']
  return name if re.search(name, model, re.I) else ''
"""


def checkout() -> Path | None:
    """Return the folder with aggregate.py, of the checkout that $PYTORCH_XLA_DIR names."""
    folder = Path(os.environ.get("PYTORCH_XLA_DIR", "")) / "benchmarks"
    return folder if os.environ.get("PYTORCH_XLA_DIR") and (folder / "aggregate.py").is_file() else None


_DRIVER = """
import base64, contextlib, io, json, sys
import aggregate
printed = []
for arguments in json.load(sys.stdin):
  sys.argv[1:] = arguments
  out = io.TextIOWrapper(io.BytesIO(), write_through=True)
  try:
    with contextlib.redirect_stdout(out):
      aggregate.main()
    printed.append(base64.b64encode(out.buffer.getvalue()).decode())
  except (KeyError, SystemExit):
    printed.append(None)
json.dump(printed, sys.stdout)
"""


def run_aggregate(work: Path, files: Sequence[Path], accelerator: str, calls: Sequence[Sequence[str]]) -> list[str]:
    """Return what it prints for each list of arguments; see `outputs`."""
    return [found.decode() for found in outputs(work, files, accelerator, calls) if found is not None]


def outputs(work: Path, files: Sequence[Path], accelerator: str, calls: Sequence[Sequence[str]]) -> list[bytes | None]:
    """Return what it writes for each list of arguments, all in one process; None where it ends with an error.

    Only its check of accelerator names, which knows three, is replaced in a copy.
    """
    source = checkout()
    assert source is not None
    text, replaced = _CHECK.subn(_REPLACED, (source / "aggregate.py").read_text())
    assert replaced == 1
    choices = "choices=['a100', 'v100', 'a6000'],"
    assert choices in text
    work.mkdir(exist_ok=True)
    (work / "aggregate.py").write_text(text.replace(choices, ""))
    (work / "driver.py").write_text(_DRIVER)
    shutil.copy(source / "tiers.py", work)
    named = [[f"--accelerator={accelerator}", *arguments, "--", *map(str, files)] for arguments in calls]
    done = subprocess.run(
        [sys.executable, str(work / "driver.py")],
        input=json.dumps(named),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        env=os.environ | {"ACCELERATOR": accelerator, "MPLBACKEND": "agg"},
    )
    return [None if text is None else base64.b64decode(text) for text in json.loads(done.stdout)]


MODELS = ("alexnet", "BERT_pytorch", "dcgan", "dlrm", "hf_GPT2", "Super_SloMo", "vgg16")


def generated(seed: int = 5932) -> Iterator[dict[str, Any]]:
    """Yield records of three timestamps with what the rule has to bear: failures, few repeats, several batch sizes,
    equal keys twice, models without a baseline, a backend that is missing at a time."""
    chance = random.Random(seed)
    for day, backend, model, test in (
        (day, backend, model, test) for day in range(3) for backend in DYNAMO for model in MODELS
        for test in ("eval", "train")
    ):  # fmt: skip
        if chance.random() < 0.15 or (day == 2 and backend == "openxla+lazytensor"):
            continue
        for batch_size in chance.sample([1, 8, 16], chance.choice([1, 1, 2])):
            for _ in range(chance.choice([1, 1, 1, 2])):
                base = chance.uniform(0.001, 0.9)
                repeats = chance.choice([1, 3, 4, 5, 12])
                times = [chance.uniform(5, 40)] + [base * chance.uniform(0.9, 1.2) for _ in range(repeats - 1)]
                failed = chance.random() < 0.08
                yield peer_record(
                    model,
                    backend,
                    test,
                    None if failed else times,
                    batch_size=batch_size,
                    timestamp=1_700_000_000 + day * 86_400.5,
                    **({"error": "ValueError: bad"} if failed else {}),
                )
