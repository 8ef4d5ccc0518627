"""Two versions of torch and torch_xla: measured one after the other, then what is suspected measured interleaved."""

import os
import sys

from tests.performance.trust_parts import identical
from tests.performance.trust_parts.origin import origin
from tests.performance.trust_parts.trials import Trials

OTHER = "XLABENCH_OTHER_PYTHON"
"""Variable with an interpreter that has torch 2.8 and torch_xla 2.8 and the runner's packages."""
MODELS = ("dummy", "dummy_nonzero", "test_vit2", "test_resnet", "BertTiny", "LlamaForCausalLM_tiny")
BACKENDS = ("--xla", "None", "--xla", "PJRT", "--dynamo", "None")
PROCESSES = "6"
"""Of each side when it is measured again: three leave much ambiguous while other work runs on the machine."""
_TOLD = "confirmed.md"


def gather(trials: Trials) -> None:
    """Measure both versions in runs of their own, then have the suspicions confirmed."""
    other = os.environ.get(OTHER)
    if other is None:
        return
    what = (*identical.common(MODELS), *BACKENDS, "--twins", "0")
    trials.measure("run", "torch-old", *what, "--env", f"torch={other}")
    trials.measure("run", "torch-new", *what, "--env", f"torch={sys.executable}")
    sides = ("compare", "torch-old", "torch-new", "--format", "markdown")
    said = trials.xlabench(*sides, log="compare")
    said += trials.xlabench(*sides, "--confirm", "all", "--processes", PROCESSES, log="confirm")
    (trials.home / _TOLD).write_text(said)


def tell(trials: Trials) -> list[str]:
    """Return what both commands said."""
    told = trials.home / _TOLD
    if not told.exists():
        print(f"Not measured: {OTHER} names no interpreter with another torch and torch_xla.", file=sys.stderr)
        return []
    return [*origin([trials.folder("torch-old"), trials.folder("torch-new")]), told.read_text()]
