"""PARAM's own benchmark from a checkout of github.com/facebookresearch/param that $PARAM_DIR names."""

import json
import os
import subprocess
import sys
from pathlib import Path

_BATCH = """
import json, os, sys
from python.lib import pytorch as implementations
from python.lib.config import make_op_config
from python.lib.init_helper import load_modules
from python.lib.pytorch.build_executor import MaterializedBuildExecutor
from python.lib.pytorch.config_util import get_benchmark_options
from python.workloads import pytorch as workloads

load_modules(implementations)
load_modules(workloads)
given = json.loads(sys.argv[1])
with open(sys.argv[2], "w") as stream:
    options = get_benchmark_options() | {"warmup": 0, "iteration": 0, "device": "cpu", "out_stream": stream}
    config = make_op_config(given["op_name"], given["op_info"], "cpu")
    run = MaterializedBuildExecutor(options).run
    run(config, given["op_info"]["config"][0], given["build_id"])
"""
"""What their `run_batch` does, with the options and the id that its own example lacks and it stops at."""


def checkout() -> Path:
    """Return the folder in which `python.pytorch.run_benchmark` can be imported; end the program without one."""
    named = os.environ.get("PARAM_DIR")
    folder = Path(named or "") / "train" / "compute"
    if not named or not (folder / "python" / "pytorch" / "run_benchmark.py").is_file():
        sys.exit("$PARAM_DIR names no checkout of github.com/facebookresearch/param")
    return folder


def refuses(config: Path, scratch: Path) -> str | None:
    """Say why their command cannot run a file: the first line of its error."""
    # TorchScript compiles an operator for its arguments after some calls, and may fail only then.
    done = _started([*_command(config, scratch), "-w", "5", "-i", "5"])
    errors = [text for text in done.stderr.splitlines() if text.partition(":")[0].endswith(("Error", "Exception"))]
    return None if done.returncode == 0 else (errors or ["no words"])[0]


def expanded(config: Path, scratch: Path) -> list[str]:
    """Return the ids of all cases that their code expands a file to, in its order; nothing is computed."""
    content = json.loads(config.read_text(encoding="utf-8"))
    if "op_info" not in content:
        return [_id(line) for line in measured(config, scratch, "-w", "0", "-i", "0")]
    out = scratch / "batch.json"
    _run([sys.executable, "-c", _BATCH, json.dumps(content), str(out)])
    return [_id(json.loads(line)) for line in out.read_text(encoding="utf-8").splitlines()]


def measured(config: Path, scratch: Path, *words: str) -> list[dict[str, object]]:
    """Return the lines of cases that their command writes."""
    before = set(scratch.iterdir())
    _run([*_command(config, scratch), *words])
    (written,) = set(scratch.iterdir()) - before
    lines = [json.loads(line) for line in written.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if "op_name" in line]


def _id(line: dict[str, object]) -> str:
    return f"{line['op_name']}|{line['id']}"


def _command(config: Path, scratch: Path) -> list[str]:
    return [sys.executable, "-m", "python.pytorch.run_benchmark", "-c", str(config), "-o", str(scratch / "theirs")]


def _started(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=checkout(), capture_output=True, text=True, check=False)


def _run(command: list[str]) -> None:
    done = _started(command)
    if done.returncode != 0:
        sys.exit(f"PARAM's own code ended with {done.returncode}:\n{done.stderr[-2000:]}")
