"""`xlabench run mymodel.py`: models of the user's own, in every form, typed in a folder that holds nothing else."""

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest
import torch

from runner.suites.own import trial
from store.errors import UsageError
from store.run_file import read_run_file
from tests import warm
from tests.tiers import first_of
from xlabench import own

BACKENDS = ["eager", "inductor", "openxla+dynamo", "openxla+lazytensor"]
COLUMNS = ["ms", "n", "speedup", "95", "%", "marks"]
FAST = ("--processes", "1", "--repeat", "2", "--home", "home")
LINEAR = """
import torch

class MyNet(torch.nn.Linear):
    def __init__(self):
        super().__init__(8, 4)
"""
WITH_INPUTS = LINEAR + "    def example_inputs(self):\n        return torch.rand(2, 8)\n"


def typed(folder: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Type a command in a folder; the process that tries a model has torch imported already."""
    done = warm.run("xlabench", words, cwd=folder, env=os.environ | {"COLUMNS": "200"}, imports="torch")
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def records(folder: Path) -> list[dict]:
    files = sorted((folder / "home").glob("runs/*/results.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def planned(folder: Path, *words: str) -> list[dict]:
    found: list[dict] = json.loads(typed(folder, "plan", *words, "--format", "json").stdout)["plan"]
    return found


NETWORKS = '''
import torch
from beside import SIZE

class Dicts(torch.nn.Module):
    """Takes a dict, reads a number, returns a tuple, and has a loss of its own."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(SIZE, SIZE)
    def forward(self, batch):
        rows = self.layer(batch["rows"])
        return rows * rows.abs().mean().item(), {"sum": rows + 1}
    def example_inputs(self):
        return {"rows": torch.rand(4, SIZE)}
    def loss(self, output, batch):
        return (output[0] - batch["rows"]).square().mean()

class Steps(torch.nn.Module):
    """Has a training step of its own."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(SIZE, SIZE)
        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
    def forward(self, rows):
        if rows.device.type == "xla" and not torch.is_grad_enabled():
            raise RuntimeError("no inference on XLA")
        return self.layer(rows)
    def example_inputs(self):
        return torch.rand(4, SIZE)
    def train_step(self, batch):
        self.optimizer.zero_grad()
        loss = self(batch).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss
'''


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backends", "baseline"),
    first_of([(["eager", "openxla+lazytensor"], "eager"), (BACKENDS, "inductor")]),
    ids=["eager and XLA", "all"],
)
def test_models_of_a_file_are_measured_and_verified_under_every_backend(tmp_path, backends, baseline):
    """A file beside it, a dict as input, a host read, a loss, a training step whose optimizer goes to the device.

    Under all four it is thorough, as is what is said of the graphs that Dynamo breaks there: the first look, below,
    takes a model through Dynamo and XLA, and test_end_to_end.py one through each of the four.
    """
    write(tmp_path, "beside.py", "SIZE = 8\n")
    write(tmp_path, "networks.py", NETWORKS)
    words = [word for name in backends for word in ("--backend", name)]
    done = typed(tmp_path, "run", "networks.py:Dicts", "networks.py:Steps", *FAST, *words)
    found = {
        (r["model"]["model_name"].split("@")[0], r["experiment"]["test"], r["variant"]): r for r in records(tmp_path)
    }
    assert {key[:2] for key in found} == {
        (f"networks.py:{name}", test) for name in ("Dicts", "Steps") for test in ("eval", "train")
    }
    refused = {key for key, record in found.items() if record["status"] != "ok"}
    assert {key[2] for key in found} == set(backends)
    assert refused == {("networks.py:Steps", "eval", name) for name in backends if name.startswith("openxla")}
    assert {record["verification_code"] for key, record in found.items() if key not in refused} == {"PASS"}
    assert found["networks.py:Steps", "train", "eager"]["experiment"]["resolved_loss"] == "its own step"
    assert found["networks.py:Dicts", "train", "eager"]["experiment"]["resolved_loss"] == "own"
    assert f"Speedup over {baseline}" in done.stdout
    assert "\n* networks.py:Steps@" in done.stdout, "the answer"
    broken = ", ".join(name for name in backends if name in ("inductor", "openxla+dynamo"))
    said = f"next: Dynamo breaks the graph of networks.py:Dicts eval under {broken}" in done.stdout
    assert said == bool(broken)
    kept = "".join(path.read_text() for path in (tmp_path / "home").rglob("*.json*"))
    assert str(tmp_path) not in "".join(json.dumps(record["model"] | record["experiment"]) for record in found.values())
    assert "super().__init__()" not in kept, "the source is in no record"
    errors = json.dumps([found[key]["error"] for key in refused])
    assert errors.count("<source>") >= len(refused)
    assert "./own/networks.py" in errors
    assert 'RuntimeError(\\"no inference' not in errors, "nor are its lines and its folder in an error"
    assert str(tmp_path) not in errors
    command = shlex.split(found["networks.py:Dicts", "train", "eager"]["reproduce"])
    again = typed(tmp_path, *command[1:], "--home", "home", "--dry-run")
    assert "1 experiment in 1 suite: 1 runnable" in again.stdout
    write(tmp_path, "beside.py", "SIZE = 16\n")
    changed = typed(tmp_path, "plan", command[2], code=2)
    assert "networks.py:Dicts has changed" in changed.stderr


@pytest.mark.slow
@pytest.mark.parametrize("backends", first_of([["eager"], []]), ids=["fast", "as typed"])
def test_the_example_of_the_readme(tmp_path, backends):
    """Its file and its command in an empty folder end with the table that it shows, verified.

    The fast form names one of the four backends; test_end_to_end.py measures a model under all of them.
    """
    shorter = (*FAST, *(word for name in backends for word in ("--backend", name))) if backends else ()
    text = (warm.ROOT / "README.md").read_text()
    [source] = re.findall(r"in `mymodel.py`:\n\n```python\n(.*?)```", text, re.DOTALL)
    [words] = set(re.findall(r"\$ xlabench (run mymodel.py.*)", text))
    write(tmp_path, "mymodel.py", source)
    table = typed(tmp_path, *shlex.split(words), *shorter).stdout.partition("Speedups")[2]
    [file] = tmp_path.glob("*/runs/*/results.jsonl")
    found = [json.loads(line) for line in file.read_text().splitlines()]
    first = [record for record in found if record["replica"] == 0 and not record["twin_of"]]
    assert {record["verification_code"] for record in first} == {"PASS"}
    assert file.parents[2].name == ("home" if shorter else "xlabench-data")
    [shown] = re.findall(r"run mymodel.py\n…\n(.*?)\n…", text, re.DOTALL)
    for part, measured in ((shown, BACKENDS), (table, backends or BACKENDS)):
        assert re.findall(r"\S+", part.partition("mymodel.py")[0].rpartition("backend ")[2]) == COLUMNS
        assert set(re.findall(r"^ +(\S+) +\d", part, re.MULTILINE)) >= set(measured)


BAD = {
    "syntax": ("class Net(torch.nn.Module)\n    pass\n", "bad.py, line 1: expected ':'"),
    "import": ("import nothing_like_this\n", "bad.py cannot be imported: line 1: ModuleNotFoundError"),
    "shapes": (
        WITH_INPUTS.replace("2, 8", "2, 5"),
        "bad.py:MyNet does not run with its inputs: RuntimeError: mat1 and",
    ),
    "generator": (
        WITH_INPUTS + "    def forward(self, values):\n        yield values\n",
        "bad.py:MyNet returns a generator, which computes nothing until it is read",
    ),
    "device": (WITH_INPUTS.replace("2, 8", '2, 8, device="meta"'), "bad.py:MyNet: its inputs are on meta"),
    "twice": (LINEAR + LINEAR, "bad.py defines the class MyNet 2 times (lines 4 and 10); rename one"),
    "several": (WITH_INPUTS + "class Other(MyNet):\n    pass\n", "several models: MyNet (class), Other (class)"),
    "none": ("import torch\nclass Net(torch.nn.Module):\n    def __init__(self, size): ...\n", "(Net needs some: give"),
    "no inputs": (LINEAR, "add a method example_inputs() that returns them, or pass --input"),
    "ends": ("import sys\nsys.exit(3)\n", "bad.py ends the program while it is imported"),
    "unstorable": ('raise ValueError("\\udcff")\n', "bad.py cannot be imported: line 1: ValueError: \\udcff"),
    "odd": ("def make():\n    return 1, 2\n", "bad.py:make returns int; expected: (module, inputs)"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_one_sentence(tmp_path, kind, monkeypatch):
    source, said = BAD[kind]
    bad, told = write(tmp_path, "bad.py", source), tmp_path / "told.json"
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    trial.main([json.dumps({"word": str(bad)}), str(told)])
    found = json.loads(told.read_text())["error"]
    assert said in found
    assert "\n" not in found


def tried(folder: Path, word: str | Path, **asked: object) -> dict:
    """Return what the process that tries a model says of it; such a process has imported none of its files."""
    for name in ("net", "lazily"):
        sys.modules.pop(name, None)
    trial.main([json.dumps({"word": str(word), "batch_size": 2, **asked}), str(folder / "told.json")])
    found: dict = json.loads((folder / "told.json").read_text())
    return found


READS = """
    import json
    import torch
    from pathlib import Path
    HERE = Path(__file__).parent
    data_files = ["native.bin"]
    class Net(torch.nn.Linear):
        def __init__(self):
            from lazily import SIZE
            super().__init__(SIZE, json.loads((HERE / "sizes.json").read_text()))
            (HERE / "log.txt").write_text("built")
        def example_inputs(self):
            return torch.rand(2, 8)
"""


def test_files_that_a_model_reads_are_in_its_hash(tmp_path, monkeypatch):
    """Also what it imports only when it is built, and what it lists since native code reads it.

    Not what it writes, and not what an installation of its folder left: packages look up their plugins there.
    """
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "net.egg-info").mkdir()
    write(tmp_path, "net.egg-info/entry_points.txt", "")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    write(
        tmp_path, "lazily.py", "from net import HERE\nSIZE = 8\n(HERE / 'net.egg-info/entry_points.txt').read_text()\n"
    )
    word = write(tmp_path, "net.py", READS)
    assert "data_files lists native.bin, which does not exist" in tried(tmp_path, word)["error"]
    names = set()
    for sizes, native in (("4", "x"), ("5", "x"), ("5", "y")):
        write(tmp_path, "sizes.json", sizes)
        write(tmp_path, "native.bin", native)
        own = tried(tmp_path, word)["own"]
        assert own["further_files"] == ["lazily.py", "native.bin", "sizes.json"]
        names.add(own["name"])
    assert len(names) == 3
    assert tried(tmp_path, f"{word}:Net@{own['name'][-8:]}")["error"] is None
    assert "net.py:Net has changed: its hash was 00000000" in tried(tmp_path, f"{word}:Net@00000000")["error"]


def test_a_script_holds_the_source_with_what_it_reads(tmp_path, monkeypatch):
    """Built from the text alone, the model returns what it returns where its files lie."""
    from runner.settings import OwnModel
    from runner.suites.base import BuildRequest
    from runner.suites.own.build import build
    from runner.suites.own.script import source

    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    write(tmp_path, "net.py", READS.replace("Net(", "Read(").replace("data_files", "_"))
    write(tmp_path, "lazily.py", "SIZE = 8\n")
    write(tmp_path, "sizes.json", "4")
    own = msgspec.convert(tried(tmp_path, tmp_path / "net.py")["own"], OwnModel)
    request = BuildRequest(model_name=own.name, test="eval", accelerator="cpu", batch_size=2, seed=7)
    there = build(own, request)
    text = source(own, request, "mean_square").text
    assert "r'''" in text
    for name in ("net.py", "lazily.py", "sizes.json"):
        (tmp_path / name).unlink()
    sys.modules.pop("net", None)
    sys.modules.pop("lazily")
    names: dict = {}
    exec(text, names)
    module, args, kwargs, _ = names["build"]()
    assert torch.equal(module(*args, **kwargs), there.module(*there.args))


@pytest.mark.slow
def test_forms_that_are_no_source(tmp_path, monkeypatch):
    """An exported program, a configuration of transformers and a name of torchvision run; code beside none does."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    torch.export.save(torch.export.export(torch.nn.Linear(8, 4).eval(), (torch.rand(2, 8),)), tmp_path / "net.pt2")
    small = {"model_type": "gpt2", "n_layer": 1, "n_embd": 16, "n_head": 2, "vocab_size": 50, "n_positions": 64}
    config = write(tmp_path, "config.json", json.dumps(small | {"architectures": ["GPT2LMHeadModel"]}))
    found = [tried(tmp_path, word) for word in (tmp_path / "net.pt2", config, tmp_path, "torchvision:resnet18")]
    assert [each["error"] for each in found] == [None] * 4
    names = [each["own"]["name"].partition("@")[0] for each in found]
    assert names == ["net.pt2", tmp_path.name, tmp_path.name, "torchvision:resnet18"]
    assert [each["tried"]["trains"] for each in found] == [False, True, True, False], "a language model has its loss"
    assert "`torchvision.models.list_models()` lists its models" in tried(tmp_path, "torchvision:nope")["error"]
    write(tmp_path, "config.json", json.dumps(small | {"auto_map": {"AutoModel": "evil.Net"}}))
    write(tmp_path, "evil.py", "raise SystemExit('executed')")
    assert "needs code that its configuration refers to (auto_map)" in tried(tmp_path, tmp_path)["error"]


FLOWS = """
import torch

class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3
    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0] ** 2

class Net(torch.nn.Linear):
    def __init__(self):
        super().__init__(8, 8, dtype=torch.bfloat16)
    def forward(self, x):
        x = super().forward(x)
        return Cube.apply(x) if x.sum() > 0 else torch.sin(x)
    def example_inputs(self):
        return torch.rand(2, 8, dtype=torch.bfloat16)
"""


@pytest.mark.slow
@pytest.mark.thorough
def test_control_flow_by_data_and_a_function_of_autograd_in_bfloat16(tmp_path):
    write(tmp_path, "flows.py", FLOWS)
    typed(tmp_path, "run", "flows.py", "--test", "eval", "--test", "train", *FAST)
    found = records(tmp_path)
    assert {record["verification_code"] for record in found} == {"PASS"}
    assert {(record["variant"], record["experiment"]["dtype"]) for record in found} == {
        (name, "bfloat16") for name in BACKENDS
    }


def test_a_refused_model_leaves_nothing_behind(tmp_path):
    """The process that tries it is another one, and no file of ours is begun before it has ended."""
    write(tmp_path, "bad.py", BAD["shapes"][0])
    done = typed(tmp_path, "run", "bad.py", code=2)
    assert done.stderr.startswith("xlabench: bad.py:MyNet does not run with its inputs: RuntimeError: mat1")
    assert (done.stderr.count("\n"), done.stdout) == (1, "")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.py"]


def test_a_mistyped_input_is_refused_before_a_process_imports_torch():
    with pytest.raises(UsageError, match=r"--input foo: write an input as"):
        trial.try_models(
            [trial.TrialRequest(word="timm_models.nosuch:make", inputs=("foo",))],
            python="/no/such/interpreter",
            variables={},
            timeout_s=1.0,
        )


def test_inputs_and_candidates_as_typed(tmp_path):
    """Inputs that are typed are part of the identity; a hash that no longer fits is refused; flags of suites, too."""
    write(tmp_path, "net.py", LINEAR + "half = MyNet().to(torch.bfloat16)\n")
    write(tmp_path, "pack.py", LINEAR + "def make():\n    return MyNet(), (torch.rand(2, 8),), {}\n")
    entries = planned(tmp_path, "net.py:MyNet", "--input", "f32[2,8]", "--accelerator", "cpu")
    assert [entry["backend"] for entry in entries] == ["eager", "inductor", "openxla+lazytensor", "openxla+dynamo"]
    assert entries[0]["config"]["source"]["inputs"] == ["f32[2,8]"]
    other = planned(tmp_path, "net.py:MyNet", "--input", "f32[4,8]", "--accelerator", "cpu")
    assert entries[0]["config"]["model_name"] != other[0]["config"]["model_name"]
    half = planned(tmp_path, "net.py:half", "--input", "bf16[2,8]", "--accelerator", "cpu")
    assert {entry["config"]["dtype"] for entry in half} == {"bfloat16"}
    [name] = {entry["config"]["model_name"] for entry in planned(tmp_path, "pack:make", "--accelerator", "cpu")}
    assert name.startswith("pack:make@")
    assert "remove it or net.py" in typed(tmp_path, "run", "net.py", "--suite-name", "dummy", code=2).stderr
    assert "write an input as" in typed(tmp_path, "run", "net.py:MyNet", "--input", "float[2]", code=2).stderr
    assert "there is no such file" in typed(tmp_path, "run", "gone.py", code=2).stderr


def test_only_the_home_s_own_file_leads_from_a_name_to_a_source(tmp_path):
    """What the plan file and a run's folder say of a source is refused; [models] leads to it from a name."""
    home = tmp_path / "home"
    home.mkdir()
    write(home, "net.py", LINEAR)
    wide = '[models.wide]\nsource = "net.py"\ninputs = ["f32[4,8]"]\n'
    write(home, "xlabench.toml", f'[models.net]\nsource = "net.py"\ninputs = ["f32[2,8]"]\nlaunch = ["ann"]\n{wide}')
    [entry] = planned(tmp_path, "--only", "own/net", "--home", "home", "--backend", "eager", "--test", "eval")
    assert entry["config"]["source"]["inputs"] == ["f32[2,8]"]
    both = planned(
        tmp_path, "--only", "own/net", "--only", "own/wide", "--home", "home", "--backend", "eager", "--test", "eval"
    )
    assert [each["config"]["source"]["inputs"] for each in both] == [["f32[2,8]"], ["f32[4,8]"]]
    assert "lists no such model" in typed(tmp_path, "run", "--only", "own/other", "--home", "home", code=2).stderr
    text = typed(tmp_path, "plan", "--only", "own/net", "--home", "home", "--format", "yaml").stdout
    write(tmp_path, "plan.yaml", text)
    assert "only the command that named it" in typed(tmp_path, "run", "--plan", "plan.yaml", code=2).stderr


def test_a_name_of_timm_is_the_experiment_of_its_suite(tmp_path):
    ours = planned(tmp_path, "timm:resnet18", "--accelerator", "cpu")
    theirs = planned(tmp_path, "--suite-name", "timm_models", "--only", "resnet18", "--accelerator", "cpu")
    assert [entry["experiment_id"] for entry in ours] == [entry["experiment_id"] for entry in theirs]


@pytest.mark.slow
def test_a_first_look_is_marked_and_then_verified(tmp_path):
    """The file adds to its result wherever dynamo compiles it."""
    wrong = "    def forward(self, rows):\n        return super().forward(rows) + int(torch.compiler.is_compiling())\n"
    write(tmp_path, "net.py", WITH_INPUTS + wrong)
    backends = ("--backend", "eager", "--backend", "openxla+dynamo")
    said = typed(tmp_path, "run", "net.py", "--quick", *backends, "--home", "home")
    table, _, checked = said.stdout.partition(
        "This is a first look: its results are not verified yet. Each is now compared with eager's."
    )
    assert "unverified" in table
    assert "WRONG ANSWER: net.py:MyNet@" in checked
    assert "Verified: 1 of 2 results agree with eager's." in checked
    assert "fastest so far: " in said.stderr


@pytest.mark.thorough
@pytest.mark.slow
def test_backends_are_compared_again_where_the_source_is_named_or_lies_here(tmp_path, monkeypatch):
    """No job finds it there, whatever a record says; nothing is begun where it is missing or has changed."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    source = write(tmp_path, "net.py", WITH_INPUTS)
    typed(tmp_path, "run", "net.py", "--backend", "eager", "--backend", "inductor", "--test", "eval", *FAST)
    words = ("compare", "eager", "inductor", "--confirm", "all", "--home", str(tmp_path / "home"))
    assert "name it with --model, or run the command in the folder of net.py" in typed(elsewhere, *words, code=2).stderr
    monkeypatch.setenv("XLABENCH_JOB", str(elsewhere))
    assert "only the command that named it knows its source" in typed(tmp_path, *words, code=2).stderr
    monkeypatch.delenv("XLABENCH_JOB")
    assert len(records(tmp_path)) == 2
    [run] = (tmp_path / "home" / "runs").iterdir()
    monkeypatch.chdir(tmp_path)
    assert own._lying_here(read_run_file(run).plan[0].config) == "net.py:MyNet"
    source.rename(elsewhere / "net.py")
    write(tmp_path, "net.py", WITH_INPUTS + "# changed\n")
    assert "net.py in this folder has another hash" in typed(tmp_path, *words, code=2).stderr
    assert "but net.py:MyNet@" in typed(tmp_path, *words, "--model", "net.py", code=2).stderr
    typed(tmp_path, *words, "--model", "elsewhere/net.py")
    again = [record for record in records(tmp_path) if record["purpose"] == "confirmation"]
    assert {(record["variant"], record["status"]) for record in again} == {("eager", "ok"), ("inductor", "ok")}
    assert "--model net.py" in again[0]["run"]["command"], "no folder of the source is kept"


WRONG_STEP = """
    def train_step(self, batch):
        self.optimizer.zero_grad()
        loss = self(batch).square().mean() * (1 + int(torch.compiler.is_compiling()))
        loss.backward()
        self.optimizer.step()
        return loss
"""


@pytest.mark.slow
@pytest.mark.thorough
def test_a_training_step_of_its_own_is_in_the_script_of_a_fault(tmp_path):
    made = "        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1)\n"
    write(tmp_path, "net.py", WITH_INPUTS.replace("(8, 4)\n", f"(8, 4)\n{made}") + WRONG_STEP)
    typed(tmp_path, "run", "net.py", "--backend", "eager", "--backend", "inductor", "--test", "train", *FAST)
    [wrong] = [record for record in records(tmp_path) if record["verification_code"] == "FAIL"]
    done = typed(tmp_path, "repro", wrong["record_id"], "--model", "net.py", "--home", "home")
    assert "shows the fault" in done.stdout


@pytest.mark.slow
def test_a_model_too_large_for_the_machine_is_a_record(tmp_path):
    write(tmp_path, "large.py", WITH_INPUTS.replace("(8, 4)", "(10**6, 10**8)"))
    done = typed(tmp_path, "run", "large.py", "--xla", "None", "--dynamo", "None", *FAST, code=3)
    assert "large.py:MyNet ran out of memory when it was tried (RuntimeError: " in done.stderr
    assert "It is measured nevertheless; if that fails as well, use smaller inputs" in done.stderr
    assert [record["status"] for record in records(tmp_path)] == ["oom"]


def test_a_model_may_print_and_leave_a_thread(tmp_path):
    """The trial had no `sys.stdout`, and waited for the thread until its time was over."""
    write(
        tmp_path,
        "talks.py",
        """
        import sys, threading, torch

        class Talks(torch.nn.Linear):
            def __init__(self):
                super().__init__(8, 4)
                threading.Thread(target=threading.Event().wait).start()

            def forward(self, values):
                sys.stdout.write("computing")
                sys.stdout.flush()
                return super().forward(values)
        """,
    )
    request = trial.TrialRequest(word=str(tmp_path / "talks.py"), inputs=("f32[2,8]",))
    (tried,) = trial.try_models([request], variables=os.environ, timeout_s=100)
    assert tried.model.attribute == "Talks"


def test_a_model_that_prints_without_end_is_stopped_when_it_is_tried(tmp_path, monkeypatch):
    """It filled the disk until the time of its trial was over, and its last line was looked for in all of it."""
    monkeypatch.setattr(trial, "_MOST_PRINTED_BYTES", 1 << 20)
    path = write(tmp_path, "endless.py", "import os\nwhile True:\n    os.write(2, b'no line' * 10_000)\n")
    request = trial.TrialRequest(word=str(path), inputs=("f32[2,8]",))
    with pytest.raises(UsageError, match=r"endless.py printed more than 1 MiB of errors when it was tried"):
        trial.try_models([request], variables=os.environ, timeout_s=100)
