"""Messages that tell the same trouble have one signature."""

import pytest

from store import query
from tests.store.factory import later

SAME = [
    (
        "tried to allocate 2.00 GiB; 1,024 MiB free at 0x7f3a9c00",
        "tried to allocate 512 MiB; 3 MiB free at 0xdeadbeef",
        "tried to allocate <n> GiB; <n> MiB free at <address>",
    ),
    (
        "shape mismatch f32[8,128]{1,0} and [s0, 4, 4]",
        "shape mismatch f32[16,12]{0,1} and [2, 3]",
        "shape mismatch f32<shape> and <shape>",
    ),
    (
        "torch.Size([1, 2]) in /opt/venv/lib/torch/x.py:31",
        "torch.Size([64, 2, 7]) in ~/torch/nn/modules/y.py:7",
        "torch.Size(<shape>) in <path>",
    ),
    (
        "cannot open /tmp/a1/b/c.so for 5e2f0a34-1111-2222-3333-aabbccddeeff",
        "cannot open ./build/c.so for 0e2f0a34-9999-2222-3333-aabbccddee00",
        "cannot open <path> for <id>",
    ),
    ("took 3-7 tries until 12:30:01, -4.5e-3", "took 10 tries until 1, +5", "took <n> tries until <n>, <n>"),
    ("kernel c0ffee00c0ffee00 failed", "kernel 9a8b7c6d5e4f failed", "kernel <id> failed"),
]


def signature(con, message, model="resnet18"):
    [row] = query.fetch(con, "SELECT error_signature($message, $model) AS it", {"message": message, "model": model})
    return row["it"]


@pytest.mark.parametrize(("one", "other", "expected"), SAME)
def test_what_varies_is_replaced(demo_con, one, other, expected):
    assert signature(demo_con, one) == expected
    if "GiB" not in one:
        assert signature(demo_con, other) == expected


@pytest.mark.parametrize(
    "message",
    [
        "killed by signal 11",
        "ended with exit code -9",
        "expected float32, got bfloat16 in conv2d",
        "a and/or b",
        "facade",
    ],
)
def test_what_tells_troubles_apart_stays(demo_con, message):
    assert signature(demo_con, message) == message


def test_the_models_own_name_is_replaced(demo_con):
    assert signature(demo_con, "vgg16: no graph", "vgg16") == "<model>: no graph"


def test_a_signature_knows_where_and_since_when_it_occurs(stored_runs):
    def oom(model, mib, **facts):
        return later(model=model, status="oom", phase="warmup", message=f"{model} wanted {mib} MiB", **facts)

    con = stored_runs(
        [later(), oom("vgg16", 12)],
        [oom("resnet18", 7), oom("vgg16", 13), oom("vgg16", 14, backend="eager")],
        [later(), later(model="vgg16"), later(model="dcgan", status="skipped", message="resnet18 wanted 7 MiB")],
    )
    assert query.fetch(con, "SELECT * EXCLUDE (first_started, last_started) FROM error_signatures") == [
        {
            "error_signature": "<model> wanted <n> MiB",
            "statuses": ["oom"],
            "phases": ["warmup"],
            "backends": ["eager", "inductor"],
            "results_n": 4,
            "runs_n": 2,
            "models_n": 2,
            "models": ["resnet18", "vgg16"],
            "first_run_id": "run-1",
            "first_run_label": "nightly",
            "last_run_id": "run-2",
            "last_run_label": "nightly",
            "example": query.fetch(con, "SELECT example FROM error_signatures")[0]["example"],
        }
    ]
    assert "wanted" in query.fetch(con, "SELECT example FROM error_signatures")[0]["example"]
