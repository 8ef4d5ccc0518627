"""How long an experiment takes from its request to its first iteration: forked against a new interpreter.

Both are measured in the same run, alternating; prints medians and the ratio. `python tests/performance/start.py`
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 3
CELLS = [("eager", "None", "None"), ("inductor", "None", "inductor"), ("openxla+lazytensor", "PJRT", "None")]


def starts(method: str) -> dict[str, float]:
    """Return seconds per backend of one run of the dummy model."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "xlabench", "run", "--suite-name", "dummy", "--filter", "^dummy$"]
        command += ["--accelerator", "cpu", "--test", "eval", "--repeat", "3", "--processes", "1", "--start", method]
        command += ["--home", home, "--output-dirname", f"{home}/run", "--no-ingest"]
        subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
        lines = (Path(home) / "run" / "results.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    return {record["variant"]: record["metrics"]["start_time_s"][0] for record in records}


def main() -> None:
    """Print one line per backend."""
    found = [(starts("fork"), starts("interpreter")) for _ in range(ROUNDS)]
    for backend, _, _ in CELLS:
        forked = statistics.median(fork[backend] for fork, _ in found)
        anew = statistics.median(interpreter[backend] for _, interpreter in found)
        print(
            f"{backend}: forked {forked:.2f} s, new interpreter {anew:.2f} s, ratio {anew / forked:.1f} (n = {ROUNDS})"
        )


if __name__ == "__main__":
    main()
