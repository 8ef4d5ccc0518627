"""Which models are taken, in which order, and what a name that does not exist is answered."""

import pytest
from runner_makers import machine, request

from runner.plan import make_plan
from runner.suites.base import ModelInfo
from store.errors import UsageError
from tests.command import xlabench

MODELS = {
    "dummy": [
        ModelInfo(name="alexnet"),
        ModelInfo(name="hf_T5", slow="930 s: on their CPU"),
        ModelInfo(name="doctr_det_predictor"),
        ModelInfo(name="Camembert", aliases=("CamemBert", "org/camembert")),
        ModelInfo(name="BertTiny"),
    ],
    "timm_models": [ModelInfo(name="alexnet"), ModelInfo(name="resnet18")],
}
TWO = ("dummy", "timm_models")


@pytest.fixture(autouse=True)
def models(monkeypatch):
    """Two suites with models that stand in PyTorch/XLA's tiers 1 to 3, or in none."""
    monkeypatch.setattr("runner.suites.dummy.SUITE.models", lambda _: MODELS["dummy"], raising=True)
    monkeypatch.setattr("runner.suites.timm_models.SUITE.models", lambda _: MODELS["timm_models"], raising=True)
    monkeypatch.setattr("runner.suites.timm_models.SUITE.unavailable", lambda _: None, raising=True)


def chosen(suites=("dummy",), **changes):
    """Return `suite/model` in the order of the plan."""
    asked = request(suite_name=suites, test=("eval",), xla=(None,), dynamo=(None,), **changes)
    return [f"{e.config.suite_name}/{e.config.model_name}" for e in make_plan(asked, machine()).entries]


def names(**changes):
    return [name.removeprefix("dummy/") for name in chosen(**changes)]


def test_only_takes_exact_names():
    assert names(only=("BertTiny", "alexnet")) == ["alexnet", "BertTiny"]


def test_only_takes_the_name_in_every_suite_that_has_it():
    assert chosen(TWO, only=("alexnet",)) == ["dummy/alexnet", "timm_models/alexnet"]
    assert chosen(TWO, only=("timm_models/alexnet",)) == ["timm_models/alexnet"]


def test_names_with_a_suite_list_that_suite_only(monkeypatch):
    """No word about a suite that is missing and was not asked for."""
    monkeypatch.setattr("runner.suites.timm_models.SUITE.unavailable", lambda _: "not here", raising=True)
    asked = request(suite_name=(), only=("dummy/BertTiny",))
    assert make_plan(asked, machine()).missing_suites == {}


@pytest.mark.parametrize("spelling", ["CamemBert", "org/camembert", "dummy/org/camembert"])
def test_another_spelling_of_a_name_is_understood(spelling):
    assert names(only=(spelling,)) == ["Camembert"]


def test_filters_search_other_spellings_too():
    assert names(filter=("^camembert$", "^org/")) == ["Camembert"]
    assert "Camembert" not in names(exclude=("^CamemBert$",))


def test_only_and_filters_narrow_together():
    assert names(only=("BertTiny", "alexnet"), filter=("bert",)) == ["BertTiny"]


@pytest.mark.parametrize(("typed", "close"), [("BertTinny", "BertTiny"), ("alexnett", "alexnet")])
def test_an_unknown_name_is_answered_with_close_ones(typed, close):
    with pytest.raises(UsageError, match=rf"^--only: there is no model '{typed}'. Did you mean {close}") as caught:
        chosen(only=(typed,))
    assert caught.value.exit_code == 2


def test_an_unknown_name_like_no_other_says_how_to_list_them():
    with pytest.raises(UsageError, match=r"'qqq'\. `xlabench plan` lists the models"):
        chosen(only=("qqq",))


def test_an_unknown_name_says_which_suites_could_not_be_looked_into(monkeypatch):
    monkeypatch.setattr("runner.suites.timm_models.SUITE.unavailable", lambda _: "not here", raising=True)
    with pytest.raises(UsageError, match="Models of timm_models are not searched"):
        chosen(TWO, only=("resnet18",))
    assert chosen(TWO, only=("timm_models/resnet18",)) == []


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        ({"filter_by_tier": (1,)}, ["hf_T5"]),
        ({"filter_by_tier": (2, 3)}, ["alexnet", "doctr_det_predictor"]),
        ({"filter_by_tier": (1,), "filter": ("tiny",)}, ["hf_T5", "BertTiny"]),
        ({"exclude_by_tier": (1, 2)}, ["doctr_det_predictor", "Camembert", "BertTiny"]),
        ({"exclude_by_tier": (3,), "exclude": ("bert",)}, ["alexnet", "hf_T5"]),
        ({"filter_by_tier": (1, 2), "exclude_by_tier": (2,)}, ["hf_T5"]),
    ],
)
def test_a_tier_is_one_more_alternative_beside_the_patterns(flags, found):
    """As in PyTorch/XLA's runner, which appends the tier's pattern to the same list."""
    assert names(**flags) == found


def test_fast_leaves_out_what_the_table_calls_slow():
    assert "hf_T5" in names()
    assert "hf_T5" not in names(fast=True)


@pytest.fixture
def write(tmp_path):
    def write_list(text):
        path = tmp_path / "models.txt"
        path.write_text(text)
        return path

    return write_list


def test_a_models_file_keeps_its_order_and_names_batch_sizes(write):
    path = write(
        "# our list\nBertTiny 8\n\ntimm_models/resnet18,16\nCamemBert=2   # theirs\norg/camembert 9\nhf_T5 , 4\n"
        "timm_models/alexnet\n"
    )
    asked = request(suite_name=TWO, models_file=path, test=("eval",), xla=(None,), dynamo=(None,))
    found = [(e.config.model_name, e.config.batch_size) for e in make_plan(asked, machine()).entries]
    assert found == [("BertTiny", 8), ("resnet18", 16), ("Camembert", 2), ("hf_T5", 4), ("alexnet", None)]


def test_a_batch_size_flag_goes_before_the_files(write):
    asked = request(models_file=write("BertTiny 8"), batch_size=3)
    assert {e.config.batch_size for e in make_plan(asked, machine()).entries} == {3}


def test_a_models_file_is_narrowed_by_the_other_flags(write):
    path = write("BertTiny\nalexnet\nhf_T5")
    assert names(models_file=path, exclude=("alex",)) == ["BertTiny", "hf_T5"]
    assert names(models_file=path, only=("alexnet", "BertTiny"), fast=True) == ["BertTiny", "alexnet"]
    assert names(models_file=path, total_partitions=2, partition_id=1) == ["alexnet"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("BertTiny\nBertTinny 3", r"models.txt, line 2: there is no model 'BertTinny'. Did you mean BertTiny"),
        ("BertTiny,x", r"line 1: 'BertTiny,x' is not a model name, optionally followed by a batch size"),
        ("BertTiny 0", r"line 1: 'BertTiny 0' is not a model name"),
        ("a b c", r"line 1: 'a b c' is not a model name"),
        ("# nothing\n", r"the file lists no model; write one per line"),
    ],
)
def test_a_bad_models_file_is_one_sentence(write, text, says):
    with pytest.raises(UsageError, match=says) as caught:
        chosen(models_file=write(text))
    assert "\n" not in str(caught.value)


def test_a_models_file_that_is_missing_is_one_sentence(tmp_path):
    with pytest.raises(UsageError, match=r"none.txt cannot be read: No such file or directory\. Pass a list"):
        chosen(models_file=tmp_path / "none.txt")
    with pytest.raises(UsageError, match="Is a directory"):
        chosen(models_file=tmp_path)


def test_the_command_answers_an_unknown_name_with_exit_2():
    done = xlabench("plan", "--suite-name", "dummy", "--only", "dumy", code=2)
    assert done.stderr == "xlabench: --only: there is no model 'dumy'. Did you mean dummy?\n"


def test_a_model_without_an_entry_is_taken_by_its_exact_name(monkeypatch, tmp_path):
    """As far as the suite can build it: by --only, with or without its suite, and in a file of models."""
    monkeypatch.setattr(
        "runner.suites.timm_models.SUITE.unlisted",
        lambda _, name: ModelInfo(name=name) if name.startswith("convnext") else None,
    )
    assert chosen(suites=(), only=("timm_models/convnext_atto",)) == ["timm_models/convnext_atto"]
    assert chosen(suites=TWO, only=("resnet18", "convnext_atto")) == [
        "timm_models/resnet18",
        "timm_models/convnext_atto",
    ]
    listed = tmp_path / "models.txt"
    listed.write_text("convnext_atto,3\nresnet18\n")
    assert chosen(suites=TWO, models_file=listed) == ["timm_models/convnext_atto", "timm_models/resnet18"]
    with pytest.raises(UsageError, match=r"No model matches --filter 'convnext'\. .* --only accepts others"):
        chosen(suites=TWO, filter=("convnext",))
    for absent in ("dummy/convnext_atto", "resnext"):
        with pytest.raises(UsageError, match="there is no model"):
            chosen(suites=TWO, only=(absent,))
