"""Real models are right under every backend, in eval and train, and the check would notice if they were not."""

import json
from itertools import product

import pytest

from tests.command import xlabench
from tests.tiers import first_of

pytestmark = pytest.mark.slow

MODELS = {"dummy": "dummy", "timm_models": "test_vit2", "huggingface": "BertTiny"}
BACKENDS = {
    "eager": ("None", "None"),
    "inductor": ("None", "inductor"),
    "openxla+lazytensor": ("PJRT", "None"),
    "openxla+dynamo": ("PJRT", "openxla"),
}


ALWAYS = [("dummy", "eager")]
"""The others are the long form; tests/test_own_models.py verifies a model under all four."""


@pytest.mark.parametrize(
    ("suite", "backend"),
    first_of(sorted(product(MODELS, BACKENDS), key=lambda each: each not in ALWAYS), len(ALWAYS)),
)
def test_the_answer_is_right(suite, backend, tmp_path):
    xla, dynamo = BACKENDS[backend]
    words = ["--suite-name", suite, "--filter", f"^{MODELS[suite]}$", "--accelerator", "cpu", "--verify-only"]
    words += ["--xla", xla, "--dynamo", dynamo, "--home", tmp_path, "--output-dirname", tmp_path / "run", "--no-ingest"]
    xlabench("run", *words)
    records = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert [record["experiment"]["test"] for record in records] == ["eval", "train"]
    for record in records:
        found = record["verification"]
        assert (record["verification_code"], found["control"], found["reference"]) == ("PASS", "noticed", "float64")
        assert found["max_rel_error"] <= (0 if backend == "eager" else 1e-4)
        assert found["tensors"] > (0 if record["experiment"]["test"] == "eval" else 5)
