"""Scripts are made and run without what they need themselves."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HEAVY = {"torch", "torch_xla", "duckdb", "pandas", "pyarrow", "streamlit", "scipy", "timm", "transformers"}


def test_making_and_proving_scripts_imports_nothing_heavy():
    script = f"import runner.repro.candidates, sys; print(*(set(sys.modules) & {HEAVY}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""


def test_a_script_without_its_package_says_so_with_code_2(tmp_path):
    from runner.repro.bundle import script
    from store.repro.fault import Fault

    record = {"model": {"suite_name": "dummy", "model_name": "dummy"}, "experiment": {"test": "eval"}}
    fault = Fault(
        kind="failure", signature="it broke", detail="", record_id="0", results_n=1, runs_n=1, models=[], tests=[],
        backends=["eager"], torch=[], torch_xla=[], first_run_id="1", first_run_label=None, first_started=None,
        last_run_id="1", last_run_label=None, last_started=None, record=record, run_folder=None,
    )  # fmt: skip
    made = script(fault, "raises", "a try", values={}, packages=("no_such_package",))
    (tmp_path / "it.py").write_text(made)
    done = subprocess.run([sys.executable, "it.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "COULD NOT RUN: no_such_package is not installed\n")
