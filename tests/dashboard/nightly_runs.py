"""Some weeks of nightly runs in which one model gets slower for good, another fails for a while, and a mark is set."""

import itertools
from datetime import datetime
from pathlib import Path

RUNS = 24
CHANGED_AT = 14
MODELS = ("alexnet", "dcgan", "resnet18", "vgg16")
BACKENDS = ("inductor", "openxla+dynamo")
_SECONDS = {"inductor": 0.010, "openxla+dynamo": 0.012}


def write_nights(factory, home: Path) -> Path:
    """Write them: under openxla+dynamo vgg16 is 1.3 times as slow from run 14 on, and dcgan fails in runs 5 to 7."""
    for night in range(RUNS):
        run = f"night-{night:02d}"
        records = [
            factory.make_record(
                model=model,
                backend=backend,
                run_id=run,
                timestamp=factory.RUN_START + night * factory.DAY,
                verification_code="PASS",
                **_outcome(night, model, backend),
            )
            for model, backend in itertools.product(MODELS, BACKENDS)
        ]
        factory.write_run(home / "runs" / run, records)
    return home


def _outcome(night: int, model: str, backend: str) -> dict[str, object]:
    if (model, backend) == ("dcgan", "openxla+dynamo") and night in (5, 6, 7):
        return {"status": "crashed", "message": "killed by signal 11"}
    slower = 1.3 if (model, backend) == ("vgg16", "openxla+dynamo") and night >= CHANGED_AT else 1.0
    noise = 1 + 0.004 * ((night * 7 + MODELS.index(model)) % 5)
    return {
        "per_iter": [_SECONDS[backend] * (1 + MODELS.index(model)) * slower * noise * (1 + i / 1000) for i in range(8)]
    }


def store_of_nights(factory, home: Path) -> Path:
    """Write, ingest and mark; return the store folder."""
    from store.changepoints import update
    from store.ingest import ingest
    from store.state import marks

    write_nights(factory, home)
    ingest([home], home / "store")
    at = datetime.fromtimestamp(factory.RUN_START + 3 * factory.DAY)  # noqa: DTZ006 - tests run in UTC
    mark = marks.Mark(marked_at=at, text="new <b>driver</b>", who="ann", created_at=at, model="alexnet")
    marks.add(home / "state.sqlite", mark)
    update(home / "store", home / "state.sqlite")
    return home / "store"
