"""Give a peer's record the identities that it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from store.identity import digest, variant
from store.record import ExperimentConfig
from store.record.words import TESTS

if TYPE_CHECKING:
    from store.ingest.decode import Line, ReadExperiment, ReadRecord

_NO_IDENTITY = {"experiment_name", "accelerator_model"}
"""`experiment_name` is a constant; the accelerator model belongs to the run."""


def run_id(record: ReadRecord) -> str:
    """One timestamp on one accelerator model is one run, as the peer's aggregator groups them."""
    return "peer-" + digest([record.experiment.accelerator_model, record.timestamp])


def run_label(record: ReadRecord) -> str:
    """Name the run by its accelerator."""
    return (record.experiment.accelerator_model or record.experiment.accelerator).strip(" ,.")


def experiment_id(raw: dict[str, Any]) -> str:
    """Identify what was measured by the model and every setting that the peer wrote."""
    settings = {key: value for key, value in raw["experiment"].items() if key not in _NO_IDENTITY and value is not None}
    return digest([raw["model"], settings])


def record_id(content: str, ordinal: int) -> str:
    """Identify a record by its content and how many equal ones stand before it in its file."""
    return digest([content, ordinal])


def variant_of(experiment: ReadExperiment) -> str:
    """Name the variant from what the peer records; what it leaves out is taken as its default."""
    return variant(
        ExperimentConfig(
            suite_name="",
            model_name="",
            test=TESTS[experiment.test],
            accelerator=experiment.accelerator,  # type: ignore[arg-type]
            xla=experiment.xla,
            dynamo=experiment.dynamo,
            xla_flags=(experiment.xla_flags,) if experiment.xla_flags else (),
            torch_xla2=str(experiment.torch_xla2) if experiment.torch_xla2 else None,
            enable_functionalization=experiment.enable_functionalization is not False,
        )
    )


def is_foreign(line: Line) -> bool:
    """Tell a record of the peer's runner, which has no identity of ours."""
    return line.record.record_id is None


def content_of(line: Line) -> str:
    """Return the hash of the whole object, whatever the order of its keys."""
    return digest(line.raw)
