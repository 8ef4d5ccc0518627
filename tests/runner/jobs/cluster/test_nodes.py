"""A job goes to a node that has what it needs and is free, else it says what it waits for."""

import json

import pytest

from runner.jobs.cluster.ray_api import GPU, Node, Spot, choose, start_flags, takes, word
from runner.jobs.executor import Waiting
from runner.jobs.request import Needs
from tests.needs import NEEDS_RAY


def node(name: str, models: dict[str, str], *environments: str, gpus: int = 0) -> Node:
    """Return a node as Ray tells of one that was started with our flags."""
    words = dict(
        each.removeprefix("--").split("=", 1)
        for each in start_flags({kind: model.split(", ") for kind, model in models.items()}, environments)
    )
    return Node(
        node_id=f"id-{name}",
        name=name,
        resources=json.loads(words["resources"]) | ({GPU: gpus} if gpus else {}),
        labels=dict(pair.split("=", 1) for pair in words["labels"].split(",")),
    )


SMALL = node("small", {"cpu": "Intel(R) Xeon(R) Processor"})
BIG = node("big", {"cpu": "AMD EPYC", "cuda": "NVIDIA H200, NVIDIA H200"}, "nightly", gpus=2)
TPU = node("tpu", {"cpu": "AMD EPYC", "tpu": "TPU v5e"})
ALL = (SMALL, BIG, TPU)
FREE: dict[str, dict[str, float]] = {}


@pytest.mark.parametrize(
    ("needs", "where"),
    [
        ({"accelerators": ("cpu",)}, "small"),
        ({"accelerators": ("cuda",)}, "big"),
        ({"accelerators": ("cuda",), "accelerator_model": "NVIDIA H200"}, "big"),
        ({"accelerators": ("tpu",)}, "tpu"),
        ({"accelerators": ("cpu",), "accelerator_model": "AMD EPYC"}, "big"),
        ({"accelerators": ("cpu",), "environments": ("default", "nightly")}, "big"),
        ({"accelerators": ("cpu", "tpu")}, "tpu"),
        ({}, "small"),
    ],
)
def test_the_first_node_that_has_everything_is_chosen(needs, where):
    found = choose(Needs(**needs), ALL, FREE, frozenset())
    assert isinstance(found, Spot)
    assert found.node.name == where


@pytest.mark.parametrize(
    ("needs", "sentence"),
    [
        ({"accelerators": ("xpu",)}, "waits for a node with xpu: the nodes of the cluster have cpu (AMD-EPYC), "),
        ({"accelerators": ("cuda",), "accelerator_model": "NVIDIA A100"}, "waits for a node with NVIDIA A100 and cuda"),
        (
            {"environments": ("old",), "accelerators": ("cpu",)},
            "waits for a node with the environment old: the nodes of",
        ),
        ({"accelerators": ("cuda",), "device_index": 2}, "waits for a node with GPU and cuda: "),
    ],
)
def test_what_no_node_has_is_named(needs, sentence):
    found = choose(Needs(**needs), ALL, FREE, frozenset())
    assert isinstance(found, Waiting)
    assert found.reason.startswith(sentence)
    assert found.devices == frozenset()


def test_a_cluster_without_our_flags_says_so():
    plain = Node(node_id="a", name="a", resources={"CPU": 8}, labels={})
    assert "--node-flags" in choose(Needs(), [plain], FREE, frozenset()).reason


def test_a_device_has_one_job_at_a_time():
    needs = Needs(accelerators=("cpu",))
    used = {"id-small": {"xlabench-cpu": 1.0}, "id-big": {"xlabench-cpu": 1.0}}
    assert choose(needs, ALL, used, frozenset()).node is TPU
    full = used | {"id-tpu": {"xlabench-cpu": 1.0}}
    found = choose(needs, ALL, full, frozenset())
    assert found.reason.startswith("waits for cpu of big, small, tpu: ")
    assert found.devices == {"id-small/xlabench-cpu", "id-big/xlabench-cpu", "id-tpu/xlabench-cpu"}
    assert choose(needs, ALL, used, frozenset(found.devices)).devices == found.devices


def test_two_gpus_are_two_devices_and_a_number_asks_for_those_before_it():
    needs = Needs(accelerators=("cuda",))
    assert choose(needs, [BIG], {"id-big": {GPU: 1.0}}, frozenset()).takes == {GPU: 1.0}
    assert isinstance(choose(needs, [BIG], {"id-big": {GPU: 2.0}}, frozenset()), Waiting)
    assert takes(Needs(accelerators=("cuda",), device_index=1), BIG) == {GPU: 2.0}


def test_what_names_no_accelerator_takes_one_of_each_kind():
    assert takes(Needs(), BIG) == {"xlabench-cpu": 1.0, GPU: 1.0}


def test_flags_of_a_node_have_no_blanks_and_labels_that_ray_takes():
    flags = start_flags({"cpu": ["Intel(R) Xeon(R) @ 2.2 GHz" * 5], "cuda": ["NVIDIA H200"]}, ["a+b"])
    assert not any(" " in each for each in flags)
    assert flags[1] == '--resources={"xlabench-cpu":1}'
    labels = dict(pair.split("=", 1) for pair in flags[2].removeprefix("--labels=").split(","))
    assert set(labels) == {"xlabench/cpu", "xlabench/cuda", "xlabench/env-default", "xlabench/env-a-b"}
    ray = pytest.importorskip("ray._private.label_utils", reason=NEEDS_RAY)
    assert [ray.validate_label_value(each) for each in labels.values()] == [None] * 4
    assert [ray.validate_label_key(each) for each in labels] == [None] * 4


@pytest.mark.parametrize("text", ["", "---", "éé", "a" * 80 + "-"])
def test_any_name_becomes_a_label(text):
    assert word(text)[:1].isalnum()
    assert len(word(text)) <= 63
