"""Outcome of the plan, class by class, and memory beside eager's."""

import pytest

from store import query
from store.record import FAILED
from tests.store.factory import make_config, make_record
from tests.store.scenes import Scenes

CLASSES = (
    "ran_n", "verify_only_n", "never_steady_n", "skipped_n", "not_run_n", "load_error_n", "compile_error_n",
    "run_error_n", "oom_n", "timeout_n", "crashed_n", "invalid_n",
)  # fmt: skip


SCENES = Scenes()
scene = SCENES.scene


@pytest.fixture
def row(scenes, run):
    """The rates of the run of a scene."""
    [found] = query.fetch(scenes, "SELECT * FROM rates WHERE run_id = $run", {"run": run})
    return found


@scene(
    *(make_record(model=status, status=status) for status in (*FAILED, "never_steady", "skipped")),
    make_record(model="verified", status="verify_only", verification_code="PASS"),
    *(make_record(model=f"good-{n}", verification_code="PASS") for n in range(2)),
    make_record(model="wrong", verification_code="FAIL"),
    planned=[make_config(model="forgotten")],
)
def test_every_planned_experiment_is_in_one_class(row):
    assert {name: row[name] for name in CLASSES} == dict.fromkeys(CLASSES, 1) | {"ran_n": 3}
    assert row["planned_n"] == sum(row[name] for name in CLASSES) == 14
    assert (row["ran_rate"], row["wrong_n"]) == (pytest.approx(3 / 14), 1)
    assert (row["verified_n"], row["answered_n"], row["verified_rate"]) == (3, 4, 0.75)


@scene(make_record())
def test_without_verification_there_is_no_rate_of_it(row):
    assert (row["ran_rate"], row["verified_rate"]) == (1.0, None)


def memory(model, backend, peak, **facts):
    return make_record(model=model, backend=backend, metrics={"peak_memory_bytes": [peak]}, **facts)


@scene(
    memory("vgg16", "eager", 300),
    memory("vgg16", "inductor", 200),
    memory("vgg16", "inductor", 100, dtype="bfloat16"),
    memory("dcgan", "inductor", 100),
    memory("alexnet", "eager", 0),
    memory("alexnet", "inductor", 50),
    memory("resnet18", "inductor", 10, batch_size=1),
    memory("resnet18", "eager", 10, batch_size=2),
)
def test_memory_is_compared_with_eagers_of_the_same_settings(scenes, run):
    def of(backend):
        sql = "SELECT model, dtype, memory_ratio FROM memory WHERE backend = $backend AND run_id = $run ORDER BY ALL"
        return query.fetch(scenes, sql, {"backend": backend, "run": run})

    found = of("inductor")
    assert [tuple(row.values()) for row in found] == [
        ("alexnet", "float32", None),
        ("dcgan", "float32", None),
        ("resnet18", "float32", None),
        ("vgg16", "bfloat16", None),
        ("vgg16", "float32", 1.5),
    ]
    assert [row["memory_ratio"] for row in of("eager") if row["model"] == "vgg16"] == [1.0]
