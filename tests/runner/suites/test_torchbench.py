"""Suite `torchbench` finds a checkout, lists it without torch, and builds as the peer does."""

import importlib.util
import subprocess
import sys
import time
from pathlib import Path

import pytest

from runner.suites import get_suite, torchbench
from runner.suites.base import SuiteContext, SuiteUnavailableError, UnknownModelError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(autouse=True)
def no_checkout_by_chance(monkeypatch, tmp_path):
    """Hide the checkout that a developer may have named or that lies beside this repository."""
    monkeypatch.delenv("TORCHBENCH_DIR", raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


@pytest.fixture
def fake_checkout(tmp_path):
    """A folder with the shape of a checkout and three models."""

    def make(folder=tmp_path / "elsewhere"):
        for name in ("lennard_jones", "pyhpc_equation_of_state", "sam_fast", "no_model/nested"):
            (folder / "torchbenchmark/models" / name).mkdir(parents=True)
        for name in ("", "lennard_jones", "pyhpc_equation_of_state", "sam_fast"):
            (folder / "torchbenchmark/models" / name / "__init__.py").touch()
        return folder

    return make


def test_without_a_checkout_one_sentence_says_how_to_get_one(request_for):
    suite = get_suite("torchbench")
    sentence = suite.unavailable(SuiteContext())
    assert "git clone https://github.com/pytorch/benchmark and pass --torchbench-dir DIR" in sentence
    assert suite.models(SuiteContext()) == []
    with pytest.raises(SuiteUnavailableError, match="git clone"):
        suite.build(request_for("lennard_jones"))


def test_a_named_folder_without_a_checkout_is_not_replaced_by_another(fake_checkout, tmp_path):
    fake_checkout(tmp_path / "benchmark")
    empty = SuiteContext(torchbench_dir=tmp_path / "work")
    assert "work holds none" in get_suite("torchbench").unavailable(empty)


@pytest.mark.parametrize("name", ["benchmark", "torchbench", "pytorch-benchmark"])
def test_a_folder_beside_the_working_folder_is_found(fake_checkout, tmp_path, name):
    checkout = fake_checkout(tmp_path / name)
    assert torchbench.find(None) == checkout.resolve()


def test_the_flag_goes_before_the_variable(fake_checkout, tmp_path, monkeypatch):
    flag, variable = fake_checkout(tmp_path / "flag"), fake_checkout(tmp_path / "variable")
    monkeypatch.setenv("TORCHBENCH_DIR", str(variable))
    assert torchbench.find(None) == variable.resolve()
    assert torchbench.find(flag) == flag.resolve()


def test_models_are_the_folders_with_an_init_file_and_skips_have_reasons(fake_checkout):
    context = SuiteContext(torchbench_dir=fake_checkout())
    infos = {info.name: info for info in get_suite("torchbench").models(context)}
    assert list(infos) == ["lennard_jones", "pyhpc_equation_of_state", "sam_fast"]
    assert infos["lennard_jones"].skips == {}
    assert infos["pyhpc_equation_of_state"].skips == {"train": "not designed for training"}


def test_a_model_that_cannot_run_on_the_accelerator_is_planned_as_a_skip(fake_checkout):
    infos = {info.name: info for info in get_suite("torchbench").models(SuiteContext(torchbench_dir=fake_checkout()))}
    assert infos["sam_fast"].accelerator_skips == {"cpu": "runs on CUDA only"}


def test_an_unknown_model_is_refused(fake_checkout, request_for):
    context = SuiteContext(torchbench_dir=fake_checkout())
    with pytest.raises(UnknownModelError, match="no model 'nope'"):
        get_suite("torchbench").build(request_for("nope", context=context))


def _detached(git):
    (git / "HEAD").write_text(f"{COMMIT}\n")


def _loose(git):
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs/heads").mkdir(parents=True)
    (git / "refs/heads/main").write_text(f"{COMMIT}\n")


def _packed(git):
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text(
        f"# pack-refs with: peeled\n{'f' * 40} refs/heads/other\n{COMMIT} refs/heads/main\n"
    )


@pytest.mark.parametrize("layout", [_detached, _loose, _packed])
def test_the_commit_is_read_from_gits_files(fake_checkout, layout):
    checkout = fake_checkout()
    (checkout / ".git").mkdir()
    layout(checkout / ".git")
    assert get_suite("torchbench").versions(SuiteContext(torchbench_dir=checkout)) == {"torchbench_commit": COMMIT}


def test_the_commit_of_a_worktree_is_read_too(tmp_path):
    repository, worktree = tmp_path / "repository", tmp_path / "worktree"
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "init", "-q", str(repository)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True, cwd=repository)
    subprocess.run([*git, "worktree", "add", "-q", "-b", "side", str(worktree)], check=True, cwd=repository)
    expected = subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, cwd=worktree, capture_output=True, text=True
    ).stdout.strip()
    assert torchbench.commit(worktree) == expected


def test_a_folder_without_history_has_no_commit(fake_checkout):
    assert get_suite("torchbench").versions(SuiteContext(torchbench_dir=fake_checkout())) == {}


# From here on with the real checkout.


@pytest.fixture
def real(real_checkout, request_for):
    """Build requests into the real checkout."""
    pytest.importorskip("torch")
    context = SuiteContext(torchbench_dir=real_checkout)
    return get_suite("torchbench"), lambda *names, **changes: request_for(*names, context=context, **changes)


def test_listing_the_real_checkout_imports_no_framework(real_checkout):
    program = (
        "import sys; from pathlib import Path; from runner.suites import get_suite;"
        "from runner.suites.base import SuiteContext;"
        "print(len(get_suite('torchbench').models(SuiteContext(torchbench_dir=Path(sys.argv[1])))) > 50,"
        " sorted({'torch', 'torchbenchmark'} & set(sys.modules)))"
    )
    root = torchbench.__file__.rsplit("/runner/", 1)[0]
    done = subprocess.run(
        [sys.executable, "-c", program, str(real_checkout)],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "True []"


@pytest.mark.parametrize("test", ["eval", "train"])
@pytest.mark.parametrize("name", ["lennard_jones", "phlippe_resnet"])
def test_a_step_of_a_real_model_gives_a_finite_scalar(real, step, name, test):
    import torch

    suite, ask = real
    workload = suite.build(ask(name, test, batch_size=4))
    assert workload.module.training == (test == "train")
    assert workload.batch_size == 4
    assert torch.isfinite(step(workload, test))


def test_real_models_are_equal_for_equal_seeds_and_differ_otherwise(real, same_tensors):
    suite, ask = real
    weights = [suite.build(ask("phlippe_resnet", seed=seed)).module.state_dict() for seed in (1, 1, 2)]
    assert same_tensors(weights[0], weights[1])
    assert not same_tensors(weights[0], weights[2])


def test_a_build_leaves_the_process_as_it_was(real):
    import torch

    before = (list(sys.path), Path.cwd(), torch.manual_seed, torch.backends.cudnn.benchmark)
    suite, ask = real
    suite.build(ask("phlippe_resnet"))
    assert (list(sys.path), Path.cwd(), torch.manual_seed, torch.backends.cudnn.benchmark) == before


def test_a_pretrained_model_gets_random_weights_and_says_so(real):
    pytest.importorskip("torchvision")
    suite, ask = real
    workload = suite.build(ask("squeezenet1_1", batch_size=1))
    assert workload.weights == "random"
    assert workload.notes == ["SqueezeNet1_1_Weights.IMAGENET1K_V1: random weights in place of a pretrained download"]


def test_pretrained_weights_that_cannot_be_had_are_random_and_said(real, monkeypatch, same_tensors):
    pytest.importorskip("torchvision")
    suite, ask = real
    plain = suite.build(ask("squeezenet1_1", batch_size=1))

    def offline(*words, **named):
        raise ConnectionError("no route")

    monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", offline)
    asked = suite.build(ask("squeezenet1_1", batch_size=1, weights="pretrained"))
    assert asked.weights == "random"
    assert asked.notes[0] == (
        "squeezenet1_1: pretrained weights could not be loaded (ConnectionError: no route): they are random"
    )
    assert same_tensors(asked.module.state_dict(), plain.module.state_dict())


def test_pretrained_weights_that_are_there_are_used(real, monkeypatch):
    torchvision = pytest.importorskip("torchvision")
    suite, ask = real
    state = torchvision.models.squeezenet1_1().state_dict()
    monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", lambda *_, **__: state)
    workload = suite.build(ask("squeezenet1_1", batch_size=1, weights="pretrained"))
    assert (workload.weights, workload.notes) == ("pretrained", [])


def test_a_model_without_pretrained_weights_says_so(real):
    suite, ask = real
    workload = suite.build(ask("lennard_jones", weights="pretrained"))
    assert workload.weights == "random"
    assert workload.notes == ["the model offers no pretrained weights: they are random"]


@pytest.mark.slow
def test_a_checkpoints_configuration_needs_no_network(real):
    pytest.importorskip("transformers")
    suite, ask = real
    workload = suite.build(ask("hf_DistilBert", batch_size=1))
    assert workload.notes == ["distilbert-base-uncased: configuration built here in place of a download"]
    assert workload.module.config.dim == 768


def test_missing_packages_are_found_by_reading_every_model_of_the_checkout(real_checkout):
    """In less than a second of this process's time, without importing what it reads."""
    suite, context = get_suite("torchbench"), SuiteContext(torchbench_dir=real_checkout)
    names = [info.name for info in suite.models(context)]
    began = time.process_time()
    found = suite.missing_packages(context, names)
    assert time.process_time() - began < 1
    assert "torchbenchmark.models.dlrm" not in sys.modules
    assert not {"lennard_jones", "phlippe_resnet"} & set(found)
    for packages in found.values():
        assert all(importlib.util.find_spec(package) is None for package in packages)
