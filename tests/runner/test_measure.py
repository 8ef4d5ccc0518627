"""The benchmark process, with a backend and a clock that do exactly what a test says."""

import itertools
import os
import time
import types
import weakref
from dataclasses import dataclass, field

import msgspec
import pytest
from runner_makers import config, settings

from runner.backends import BACKENDS
from runner.messages import Load, Turn, WarmedUp
from runner.plan.local_request import agreeing
from runner.process import measure, timed_results, timed_step
from runner.process.measure import ExperimentMeasurement, effective_variables
from runner.workload import Counters, Workload
from store.advice import sentence
from store.errors import UsageError

torch = pytest.importorskip("torch")


@dataclass
class Step:
    """What one iteration costs and counts."""

    run_s: float = 1.0
    trace_s: float = 0.0
    compiles: int = 0
    compile_s: float = 0.0
    executions: int = 1
    calls: dict = field(default_factory=dict)
    raises: Exception | None = None


class Result:
    """What a step returns; it can be watched."""


class Device:
    """A fake runtime and its clock; seeding and preparing take long, to show that they are not timed."""

    is_xla = True
    start_s = 0.25

    def __init__(self, steps, wait_s=0.0):
        self.steps, self.wait_s = iter(steps), wait_s
        self.now, self.seconds = 1000.0, {"CompileTime": 0.0, "ExecuteTime": 0.0}
        self.compiled = self.executed = 0
        self.calls, self.events, self.alive, self.grads = {}, [], [], []
        self.result = self.current = None
        self.peak = None
        self.moved = {}
        self.device = torch.device("cpu")

    def step(self, args, kwargs):
        self.current = next(self.steps)
        if self.current.raises:
            raise self.current.raises
        self.now += self.current.trace_s
        self.events.append("step")
        self.grads.append(torch.is_grad_enabled())
        result = Result()
        self.result = weakref.ref(result)
        return result

    def after_iteration(self):
        self.events.append("cut")
        if self.current is None:
            return
        self.alive.append(self.result() is not None)
        self.now += self.current.run_s
        self.compiled += self.current.compiles
        self.executed += self.current.executions
        self.seconds["CompileTime"] += self.current.compile_s
        self.seconds["ExecuteTime"] += self.current.run_s
        for op, count in self.current.calls.items():
            self.calls[op] = self.calls.get(op, 0) + count

    def after_block(self):
        self.events.append("wait")
        self.now += self.wait_s

    def seed(self, seed):
        self.events.append(f"seed {seed}")
        self.now += 500.0

    def counters(self):
        return Counters(compiles=self.compiled, executions=self.executed)

    def place(self, workload):
        """The workload is built where this device finds it."""

    def timer(self):
        return None

    def transfers(self):
        return dict(self.moved)

    def metric(self, name):
        return 0, self.seconds[name]

    def fallback_calls(self):
        self.now += 70.0
        return dict(self.calls)

    def replacements(self):
        return []

    def memory_reset(self):
        self.events.append("memory_reset")

    def memory_peak_bytes(self):
        return self.peak


class Endless(Device):
    """Its steps cost nothing and are never used up."""

    def __init__(self):
        super().__init__(itertools.repeat(Step(run_s=0.0)))


class OwnStep:
    """A step with one phase: 2 s of 3 are its forward; an empty one takes half a second."""

    def __init__(self, runtime, test):
        self.runtime, self.test, self.uncut_n = runtime, test, 0

    def __call__(self, args, kwargs):
        self.runtime.now += 3.0
        self.runtime.executed += 1

    def uncut(self, args, kwargs):
        self.uncut_n += 1

    def empty(self):
        self.runtime.now += 0.5

    def take_seconds(self):
        return {"forward": 2.0}

    input_bytes = 12


class Backend:
    name = "fake"

    def __init__(self, device, reason=None):
        self.device, self.reason = device, reason

    def open(self, _config, _device_index):
        return self.device

    def compile(self, _step, _config):
        return self.device.step

    def invalid(self):
        return self.reason


class Suite:
    def __init__(self, workload=None):
        self.requests, self.workload = [], workload or {}

    def build(self, request):
        self.requests.append(request)
        return Workload(
            module=torch.nn.Identity(),
            args=(torch.ones(2),),
            batch_size=request.batch_size or 2,
            loss=torch.sum,
            loss_name="sum",
            **self.workload,
        )


class Memory:
    """Resident memory whose high-water mark a test sets."""

    def __init__(self):
        self.now = self.peak = 100

    def resident_bytes(self):
        return self.now

    def peak_bytes(self):
        return self.peak

    def reset_peak(self):
        self.peak = self.now


@pytest.fixture
def resident(monkeypatch):
    memory = Memory()
    for name in ("resident_bytes", "peak_bytes", "reset_peak"):
        monkeypatch.setattr(measure.own_process, name, getattr(memory, name))
    return memory


@pytest.fixture
def begin(monkeypatch, resident):
    """Start a measurement of the given iterations; the last one is repeated for ever."""

    def start(
        *steps,
        device=None,
        reason=None,
        wait_s=0.0,
        test="eval",
        batch_size=None,
        changes=None,
        workload=None,
        **chosen,
    ):
        made = device or Device([*steps, *[steps[-1]] * 2000], wait_s)
        monkeypatch.setitem(BACKENDS, ("fake", None), Backend(made, reason))
        suite = Suite(workload)
        monkeypatch.setattr(timed_step, "get_suite", lambda _name: suite)
        clock = types.SimpleNamespace(perf_counter=lambda: made.now, monotonic=lambda: made.now)
        monkeypatch.setattr(measure, "time", clock)
        monkeypatch.setattr(timed_step, "perf_counter", clock.perf_counter)
        load = Load(
            config=config(xla="fake", test=test, **(changes or {})),
            settings=settings(**chosen),
            batch_size=batch_size,
            torchbench_dir=None,
            requested_at=990.0,
        )
        measurement = ExperimentMeasurement(load)
        measurement.loaded, measurement.device, measurement.suite = measurement.load(), made, suite
        return measurement

    return start


def test_a_model_that_replaces_the_clock_is_timed_by_the_real_one(monkeypatch):
    """Libraries that freeze or scale time do so."""

    def frozen(args, kwargs):
        monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
        time.sleep(0.01)

    step = timed_step.TimedStep(
        Load(config=config(), settings=settings(), batch_size=None, torchbench_dir=None, requested_at=0.0)
    )
    step.step = frozen
    step.runtime = types.SimpleNamespace(after_iteration=lambda: None, after_block=lambda: None, timer=lambda: None)
    step.runtime.seed = lambda seed: None
    seconds, _ = step.take([((), {})])
    assert seconds >= 0.01


def measured(measurement, repeat=3):
    """Lead a measurement through its phases, as the scheduler does; return its report."""
    measurement.first()
    while True:
        assert measurement.warm_up().steady
        if measurement.turn(Turn(repeat, 0)).steady:
            return measurement.report()


def test_a_block_is_all_its_iterations_and_one_wait(begin):
    """Between the clocks: trace and run of each iteration, the cut after each, the wait after the last."""
    measurement = begin(Step(run_s=2.0, trace_s=0.5), wait_s=4.0, iterations_per_run=3)
    measurement.device.events.clear()
    measurement.first()
    assert measurement.device.events == ["seed 1337", *["step", "cut"] * 3, "wait"]
    found = measurement.report().metrics
    assert (found["total_time"], found["per_iter_time"]) == ([11.5], [pytest.approx(11.5 / 3)])
    assert (found["trace_total_time"], found["trace_per_iter_time"]) == ([1.5], [0.5])


def test_seeding_and_reading_counters_are_not_timed(begin):
    """The fake device takes 500 s to seed and 70 s to tell its counters."""
    found = measured(begin(Step(run_s=1.0)))
    assert set(found.metrics["total_time"]) == {1.0}


def test_the_result_stays_referenced_until_it_is_materialised(begin):
    """Lazy XLA computes nothing for a result that nobody holds at the cut."""
    measurement = begin(Step(), iterations_per_run=4)
    measurement.first()
    assert measurement.device.alive == [True] * 4
    assert measurement.device.result() is None


@pytest.mark.parametrize(("test", "grad"), [("eval", False), ("train", True)])
def test_gradients_are_recorded_in_train_only(begin, test, grad):
    measurement = begin(Step(), test=test)
    measurement.first()
    assert measurement.device.grads == [grad]


def test_every_block_begins_with_the_same_random_streams(begin):
    """On the host and on the device."""
    drawn = []
    device = Device(itertools.repeat(Step()))
    plain = device.step
    device.step = lambda *given: (drawn.append(torch.rand(1).item()), plain(*given))[1]
    measurement = begin(device=device, seed=7)
    measurement.first()
    measurement.warm_up()
    assert len(drawn) == 5
    assert len(set(drawn)) == 1
    assert device.events.count("seed 7") == 5


def test_loading_answers_what_the_model_made_of_the_request(begin):
    measurement = begin(Step(), test="train", batch_size=8)
    assert (measurement.loaded.batch_size, measurement.loaded.loss) == (8, "sum")
    assert measurement.loaded.threads == torch.get_num_threads()
    (asked,) = measurement.suite.requests
    assert (asked.model_name, asked.test, asked.batch_size, asked.seed) == ("dummy", "train", 8, 1337)
    assert begin(Step()).loaded.loss is None


def test_how_threads_wait_is_part_of_the_policy(begin, monkeypatch):
    """Of two results of different policies none is divided by the other; a model's code sets variables too late."""
    monkeypatch.setenv("OMP_WAIT_POLICY", " passive")
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "avx2")
    monkeypatch.setenv("XLA_FLAGS", "--of-its-own")
    monkeypatch.setattr(measure, "raise_priority", lambda: "libraries, nice -20")
    plain = Suite.build
    monkeypatch.setattr(
        Suite, "build", lambda suite, request: (monkeypatch.setenv("KMP_BLOCKTIME", "0"), plain(suite, request))[1]
    )
    assert (
        begin(Step(), raise_priority=True).loaded.policy == "OMP_WAIT_POLICY=PASSIVE, ONEDNN_MAX_CPU_ISA=AVX2, nice -20"
    )
    monkeypatch.delenv("OMP_WAIT_POLICY")
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA")
    monkeypatch.delenv("KMP_BLOCKTIME")
    assert begin(Step()).loaded.policy == "libraries"


TWO_CORES = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")


@pytest.fixture
def one_core():
    """Return what binds the process to one core."""
    cores = os.sched_getaffinity(0)
    yield lambda: os.sched_setaffinity(0, {min(cores)})
    os.sched_setaffinity(0, cores)


@TWO_CORES
def test_a_step_that_binds_the_process_to_one_core_is_told(begin, one_core):
    cores = len(os.sched_getaffinity(0))
    process = begin(Step())
    assert process.report().findings == []
    one_core()
    assert [sentence(each) for each in process.report().findings] == [
        (
            f"an iteration of the model bound the process to 1 core, so it was not measured with {cores}: "
            "remove that, so that all backends use the same"
        )
    ]


@TWO_CORES
def test_the_models_own_code_cannot_bind_the_process_to_one_core(begin, monkeypatch, one_core):
    """XLA makes its threads afterwards, eager's pool may be there already."""
    cores = os.sched_getaffinity(0)
    plain = Suite.build
    monkeypatch.setattr(Suite, "build", lambda suite, request: (one_core(), plain(suite, request))[1])
    loaded = begin(Step()).loaded
    assert os.sched_getaffinity(0) == cores
    assert loaded.warnings == [f"the model's code bound the process to 1 core, but was measured with {len(cores)}"]


@pytest.fixture
def torch_settings():
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    yield
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision(precision)


@pytest.mark.usefixtures("torch_settings")
def test_a_step_that_changes_threads_and_precision_is_told(begin):
    """Its times are not those of the settings that the record holds."""
    torch.set_num_threads(2)
    process = begin(*[Step()] * 3)
    assert process.report().findings == []
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("medium")
    assert [sentence(each) for each in process.report().findings] == [
        (
            "an iteration of the model set 1 threads, so it was not measured with 2: "
            "remove that, so that --threads decides"
        ),
        (
            "an iteration of the model set the precision of float32 products to medium, so it was not measured with "
            "highest: remove that, so that --matmul-precision decides"
        ),
    ]


@pytest.mark.usefixtures("torch_settings")
def test_another_number_of_threads_of_xla_is_told(begin, monkeypatch):
    """The record has one number, torch's; a speedup of XLA over eager would be one of threads."""
    monkeypatch.setenv("NPROC", "7")
    assert begin(Step(), threads=2).loaded.warnings == [
        "NPROC gives XLA 7 threads, but torch has 2; --threads gives both the same number"
    ]
    monkeypatch.setenv("NPROC", "2")
    assert begin(Step(), threads=2).loaded.warnings == []


@pytest.mark.usefixtures("torch_settings")
def test_a_step_that_restores_what_it_has_changed_is_told(begin, monkeypatch):
    torch.set_num_threads(2)
    device = Endless()

    def changing(args, kwargs, plain=device.step):
        torch.set_num_threads(1)
        torch.set_float32_matmul_precision("medium")
        result = plain(args, kwargs)
        torch.set_num_threads(2)
        torch.set_float32_matmul_precision("highest")
        return result

    monkeypatch.setattr(device, "step", changing)
    process = begin(device=device)
    assert process.report().findings == []
    process.first()
    assert [finding.code for finding in process.report().findings] == ["changed_settings"] * 2
    assert begin(Step()).report().findings == []


@pytest.mark.usefixtures("torch_settings")
@pytest.mark.parametrize("asked", [None, 3])
def test_the_models_own_code_cannot_change_threads_and_precision(begin, monkeypatch, asked):
    """Else the record says what was asked for, and the clock ran over something else."""
    torch.set_num_threads(2)

    def build(suite, request, plain=Suite.build):
        torch.set_num_threads(1)
        torch.set_float32_matmul_precision("medium")
        return plain(suite, request)

    monkeypatch.setattr(Suite, "build", build)
    loaded = begin(Step(), threads=asked).loaded
    threads = asked or 2
    assert (torch.get_num_threads(), torch.get_float32_matmul_precision()) == (threads, "highest")
    assert (loaded.threads, loaded.variables["torch.float32_matmul_precision"]) == (threads, "highest")
    assert loaded.warnings == [
        f"the model's code set 1 threads, but was measured with {threads}; --threads decides",
        (
            "the model's code set the precision of float32 products to medium, but was measured with highest; "
            "--matmul-precision decides"
        ),
    ]


def test_what_it_took_to_start_stands_beside_the_blocks(begin):
    """From the request to the first iteration; the runtime's own start is no compile time."""
    measurement = begin(Step())
    measurement.first()
    found = measurement.report().metrics
    assert (found["start_time_s"], found["runtime_start_s"], found["load_time_s"]) == ([10.0], [0.25], [0.0])


def test_warm_up_takes_at_least_the_minimum(begin):
    measurement = begin(Step(), warmup_min=7)
    measurement.first()
    assert measurement.warm_up() == WarmedUp(steady=True, blocks=7)


def test_warm_up_goes_on_until_compilations_rest(begin):
    """The second iteration often compiles again; four blocks without a compilation have to follow."""
    measurement = begin(Step(compiles=3), Step(compiles=1), Step(), Step(compiles=1), Step())
    measurement.first()
    assert measurement.warm_up() == WarmedUp(steady=True, blocks=8)
    assert measurement.report().blocks.compiles == [3, 1, 0, 1, 0, 0, 0, 0]


def test_warm_up_goes_on_until_times_show_no_trend(begin):
    """CUDA graphs still record after the compile counters rest."""
    measurement = begin(*[Step(run_s=seconds) for seconds in (9.0, 8.0, 7.0, 6.0, 5.0, 1.0)])
    measurement.first()
    assert measurement.warm_up() == WarmedUp(steady=True, blocks=8)


def test_past_the_bound_it_is_never_steady(begin):
    measurement = begin(Step(compiles=1), warmup_max=12)
    measurement.first()
    assert measurement.warm_up() == WarmedUp(steady=False, blocks=12)
    found = measurement.report()
    assert found.blocks.kind == ["first", *["warmup"] * 11]
    assert found.invalid is None
    assert "peak_memory_bytes" not in found.metrics


@pytest.mark.parametrize(("window", "most", "says"), [(4, 5, "at least 5 blocks"), (7, 8, "at least 8 blocks")])
def test_a_bound_is_refused_where_nothing_can_be_steady_within_it(begin, window, most, says):
    """At the least bound that is accepted, equal blocks are steady; one less, and they would never be."""
    chosen = {"warmup_min": 1, "warmup_max": most, "steady_blocks": window}
    measurement = begin(Step(), **chosen)
    measurement.first()
    assert measurement.warm_up() == WarmedUp(steady=True, blocks=most)
    assert agreeing(settings(**chosen)).warmup_max == most
    with pytest.raises(UsageError, match=says):
        agreeing(settings(**chosen | {"warmup_max": most - 1}))


def test_blocks_too_short_for_the_clock_repeat_their_iterations(begin):
    """The first block is one iteration, with the compilation; later times and counts are those of one of many."""
    found = measured(begin(Step(run_s=2.0, compiles=1), Step(run_s=0.25), workload={"least_block_s": 1.0}))
    assert found.blocks.inner_loops == [1, 1, *[6] * 6]
    assert found.metrics["total_time"] == [2.0, *[0.25] * 7]
    assert found.blocks.executions == [1] * 8
    assert found.blocks.kind[-3:] == ["steady"] * 3


def test_a_block_that_is_long_enough_repeats_nothing(begin):
    assert measured(begin(Step(run_s=1.0), workload={"least_block_s": 1.0})).blocks.inner_loops == []


def test_a_steady_block_that_is_suddenly_short_makes_the_next_turn_longer(begin):
    measurement = begin(*[Step(run_s=1.0)] * 6, Step(run_s=0.5), workload={"least_block_s": 1.0})
    measurement.first()
    measurement.warm_up()
    measurement.turn(Turn(2, 0))
    measurement.turn(Turn(1, 1))
    assert measurement.report().blocks.inner_loops[-3:] == [1, 1, 3]


@pytest.mark.parametrize(
    ("accelerator", "turn", "rests"),
    [
        ("cpu", Turn(1, 0, rewarm=1), [False]),
        ("cpu", Turn(1, 0), [True]),  # no block follows that is timed apart, and the probe's threads still spin
        ("cpu", Turn(1, 0, rewarm=1, stopped=False), [True]),
        ("cuda", Turn(1, 0, rewarm=1), []),
    ],
)
def test_the_probe_of_all_threads_precedes_turns_on_the_cpu(begin, accelerator, turn, rests):
    measurement = begin(Step(run_s=1.0), quiet=True)
    measurement.first()
    measurement.warm_up()
    found = []
    measurement._threads_probe = types.SimpleNamespace(take=lambda rest: found.append(rest) or 1e-3)
    measurement._config = msgspec.structs.replace(measurement._config, accelerator=accelerator)
    facts = measurement.turn(turn).facts
    assert (found, facts.threads_probe_s) == (rests, 1e-3 if rests else None)


def test_iterations_that_take_no_time_are_repeated_so_often_at_most(begin):
    measurement = begin(Step(run_s=0.0), device=Endless(), workload={"least_block_s": 1.0, "shared_inputs": True})
    measurement.first()
    assert measurement.warm_up().steady
    assert max(measurement.report().blocks.inner_loops) == measure.MAX_INNER_LOOPS


def test_a_step_of_its_own_cuts_itself_and_tells_its_phases_and_its_floor(begin):
    made = []

    def own(workload, test, runtime, compiled, timer):
        made.append(OwnStep(runtime, test))
        return made[-1]

    repeated = {"least_block_s": 5.0, "shared_inputs": True}
    measurement = begin(Step(), device=Device([]), workload={"own_step": own, **repeated})
    measured(measurement)
    found = measurement.report(finished=True)
    assert made[0].uncut_n == 0, "an iteration that hangs would cost the times"
    found = measurement.examine(found)
    assert made[0].test == "eval"
    assert found.metrics["total_time"] == found.metrics["forward_time"]
    assert set(found.metrics["total_time"]) == {2.0}, "the third second belongs to no phase"
    assert found.blocks.inner_loops[-1] == 4, "what it tells is one iteration's, however often a block repeats it"
    assert "trace_total_time" not in found.metrics
    assert found.metrics["empty_sync_s"] == [0.5]
    assert found.metrics["input_bytes"] == [12.0]
    # Once without a cut: for those who look at the graph.
    assert made[0].uncut_n == 1


def test_a_turn_takes_its_blocks_in_its_round(begin):
    measurement = begin(Step())
    measurement.first()
    measurement.warm_up()
    assert measurement.turn(Turn(2, 0)).steady
    assert measurement.turn(Turn(3, 1)).steady
    found = measurement.report()
    assert found.blocks.kind[-6:] == ["warmup", *["steady"] * 5]
    assert found.blocks.round[-6:] == [0, 0, 0, 1, 1, 1]


def test_rewarming_is_timed_apart(begin):
    """It stands in no array of the steady blocks, nor in the metrics."""
    measurement = begin(Step(), *[Step()] * 4, Step(run_s=7.0), Step(run_s=8.0), Step(), Step(run_s=9.0), Step())
    measurement.first()
    measurement.warm_up()
    measurement.turn(Turn(1, 0, 2))
    measurement.turn(Turn(2, 1, 1))
    found = measurement.report()
    assert found.blocks.rewarm_time == [7.0, 8.0, 9.0]
    assert found.metrics["total_time"] == [1.0] * 8
    assert (found.blocks.kind[-3:], found.blocks.round[-3:]) == (["steady"] * 3, [0, 1, 1])


def test_short_blocks_rewarm_for_as_long_as_caches_and_clocks_need(begin):
    measurement = begin(Step(run_s=0.02))
    measurement.first()
    measurement.warm_up()
    measurement.turn(Turn(1, 0, 1))
    assert len(measurement.report().blocks.rewarm_time) == 3
    measurement.turn(Turn(1, 1, 0))
    assert len(measurement.report().blocks.rewarm_time) == 3, "none was asked for"


@pytest.mark.parametrize(("block_s", "rewarmed"), [(0.02, 3), (0.05, 0), (7.0, 0)])
def test_a_process_that_is_never_stopped_rewarms_where_its_blocks_are_short(begin, block_s, rewarmed):
    """The judging of the turn before costs caches and clocks that only short blocks notice."""
    measurement = begin(Step(run_s=block_s))
    measurement.first()
    measurement.warm_up()
    measurement.turn(Turn(1, 0, 1, stopped=False))
    assert len(measurement.report().blocks.rewarm_time) == rewarmed


def test_blocks_that_take_no_time_rewarm_no_longer_than_so_many(begin):
    measurement = begin(Step(run_s=0.0))
    measurement.first()
    measurement.warm_up()
    measurement.turn(Turn(1, 0, 1))
    assert len(measurement.report().blocks.rewarm_time) == measure.MAX_REWARM_BLOCKS


def test_a_compilation_while_rewarming_spoils_the_turn(begin):
    measurement = begin(*[Step()] * 7, Step(compiles=1), Step())
    measurement.first()
    measurement.warm_up()
    assert measurement.turn(Turn(2, 0)).steady
    assert not measurement.turn(Turn(2, 1, 1)).steady
    assert measurement.report().blocks.kind == ["first", *["warmup"] * 6]


def until(measurement, *, blocks=2, rewarm=0, between=0.0):
    """Lead it through turns until it says that they are enough; return what each answered, and its report."""
    measurement.first()
    measurement.warm_up()
    answers = []
    while not (answers and answers[-1].enough):
        answers.append(measurement.turn(Turn(blocks, len(answers), rewarm)))
        measurement.device.now += between
    return [answer.enough for answer in answers], measurement.report().until


WARM_UP = [Step()] * 5
BLOCK_S = 641.0
"""What a block of one second takes with its preparation: seeding, and reading counters before and after."""


def test_it_stops_at_the_first_turn_after_which_the_median_is_known_well_enough(begin):
    """Sixth of six: the interval is the whole range, 1 to 1.2. Of nine it leaves out one at either end: 1 to 1."""
    steady = [Step(run_s=seconds) for seconds in (1.0, 1.2, *[1.0] * 5, 0.9, 1.0)]
    enough, found = until(begin(*WARM_UP, *steady, repeat=3, until_stable=0.05, time_budget_s=1e6), blocks=3)
    assert enough == [False, False, True]
    assert (found.rule, found.target, found.half_width, found.stable) == ("stable", 0.05, 0.0, True)
    enough, found = until(begin(*WARM_UP, *steady, repeat=3, until_stable=0.11, time_budget_s=1e6), blocks=3)
    assert (enough, found.half_width) == ([False, True], pytest.approx(0.1))


def test_under_six_blocks_nothing_is_stable(begin):
    """Equal as they are: no interval exists."""
    enough, found = until(begin(Step(), repeat=2, until_stable=0.5, time_budget_s=1e6), blocks=1)
    assert (len(enough), found.half_width) == (6, 0.0)


def test_the_budget_is_running_time_of_the_turns_alone(begin):
    """Each process pays its blocks with their preparation and re-warming; the warm-up and stops are free."""
    steps = [Step(run_s=1.0), Step(run_s=2.0)] * 20
    measurement = begin(*WARM_UP, *steps, until_stable=0.01, time_budget_s=4 * BLOCK_S)
    enough, found = until(measurement, blocks=1, rewarm=1, between=1e5)
    assert (enough, found.stable, found.budget_s) == ([False, True], False, 4 * BLOCK_S)
    assert found.spent_s == pytest.approx(4 * BLOCK_S + 2)
    assert found.half_width is None
    more = begin(*WARM_UP, *steps, until_stable=0.01, time_budget_s=4 * BLOCK_S + 3)
    assert until(more, blocks=1, rewarm=1, between=1e5)[0] == [False, False, True]


def test_a_spoilt_turn_is_no_part_of_what_was_spent(begin):
    """It is warm-up, as the blocks before it are."""
    measurement = begin(*WARM_UP, *[Step()] * 2, Step(compiles=1), Step(), until_stable=0.01)
    measurement.first()
    measurement.warm_up()
    measurement.turn(Turn(2, 0))
    assert not measurement.turn(Turn(2, 1)).steady
    assert (measurement.report().until.spent_s, measurement.report().until.half_width) == (0.0, None)


@pytest.mark.parametrize("chosen", [{}, {"until_stable": 0.01, "preset": "peer"}])
def test_where_the_number_of_blocks_is_fixed_any_turn_is_enough(begin, chosen):
    enough, found = until(begin(Step(), **chosen), blocks=1)
    assert (enough, found) == ([True], None)


def test_before_a_stop_the_device_has_finished_and_held_locks_are_told(begin, monkeypatch):
    measurement = begin(Step())
    monkeypatch.setattr(measure.own_process, "settle", lambda: 2)
    del measurement.device.events[:]
    measurement.pause()
    assert measurement.device.events == ["wait"]
    assert "the process was stopped while it held 2 file locks" in measurement.report().warnings[0]


def test_a_compilation_in_the_turn_spoils_it_and_warm_up_resumes(begin):
    """Blocks before it were no steady state either; nothing is thrown away."""
    quiet = [Step()] * 6
    measurement = begin(Step(compiles=1), *quiet, Step(compiles=1), Step())
    measurement.first()
    assert measurement.warm_up() == WarmedUp(steady=True, blocks=5)
    assert not measurement.turn(Turn(10, 0)).steady
    assert measurement.report().blocks.kind == ["first", *["warmup"] * 7]
    assert measurement.warm_up() == WarmedUp(steady=True, blocks=12)
    assert measurement.turn(Turn(10, 0)).steady
    found = measurement.report()
    assert found.blocks.kind == ["first", *["warmup"] * 11, *["steady"] * 10]
    assert found.blocks.compiles[-10:] == [0] * 10


def test_a_fixed_number_of_blocks_is_labelled_afterwards(begin):
    measurement = begin(Step(run_s=9.0, compiles=1), Step(run_s=5.0, compiles=1), Step(), quiet=True)
    measurement.first()
    found = measurement.exactly(10)
    assert (found.steady, found.blocks, found.facts.blocks) == (True, 10, 8)
    assert measurement.report().blocks.kind == ["first", "warmup", *["steady"] * 8]
    measurement.label([0])
    assert measurement.report().blocks.kind == ["first", "warmup", *["disturbed"] * 8]


def test_a_fixed_number_of_blocks_that_compiles_to_the_end_is_never_steady(begin):
    measurement = begin(Step(compiles=1))
    measurement.first()
    assert measurement.exactly(5) == WarmedUp(steady=False, blocks=5)
    assert measurement.report().blocks.kind == ["first", *["warmup"] * 4]


def test_fewer_executions_than_iterations_are_no_measurement(begin):
    found = measured(begin(Step(executions=1), Step(executions=0)))
    assert found.invalid == "a steady block of 1 iterations executed 0 programs: nothing was computed"


def test_an_operator_that_falls_back_is_measured_where_the_host_computes_it(begin):
    """It executes no program; a model whose blocks execute none has computed nothing."""

    class Falling(OwnStep):
        def __call__(self, args, kwargs):
            self.runtime.now += 3.0
            self.runtime.calls["nonzero"] = self.runtime.calls.get("nonzero", 0) + 1

    own = {"own_step": lambda workload, test, runtime, compiled, timer: Falling(runtime, test)}
    found = measured(begin(Step(), device=Device([]), workload=own))
    assert found.invalid is None
    assert [op.op for op in found.fallback_ops] == ["nonzero"]
    model = measured(begin(Step(executions=0, calls={"nonzero": 1})))
    assert "nothing was computed" in model.invalid


def test_fewer_executions_while_warming_up_do_not_matter(begin):
    found = measured(begin(*[Step(executions=0)] * 5, Step(executions=1)))
    assert found.invalid is None
    assert found.blocks.executions == [0] * 5 + [1] * 3


def test_executions_are_counted_per_block_of_iterations(begin):
    found = measured(begin(*[Step()] * 23, Step(executions=0), Step(), iterations_per_run=4))
    assert found.blocks.executions == [4] * 5 + [3, 4, 4]
    assert found.invalid == "a steady block of 4 iterations executed 3 programs: nothing was computed"


def test_a_backend_that_counts_no_executions_is_not_judged_by_them(begin):
    device = Device(itertools.repeat(Step(executions=0)))
    device.counters = Counters
    found = measured(begin(device=device))
    assert (found.invalid, set(found.blocks.executions)) == (None, {None})


def test_what_the_backend_says_invalidates_the_run(begin):
    assert measured(begin(Step(), reason="captured no graph")).invalid == "captured no graph"


def test_xla_counts_and_seconds_stand_per_block(begin):
    found = measured(begin(Step(compiles=2, compile_s=1.5), Step())).metrics
    assert found["xla_CompileTime_number"] == [2.0, *[0.0] * 7]
    assert found["xla_CompileTime_time_s"] == [1.5, *[0.0] * 7]
    assert found["xla_ExecuteTime_number"] == [1.0] * 8


def test_transfers_stand_per_block_as_far_as_the_runtime_counts_them(begin):
    """What set-up and preparation moved before the clock belongs to no block."""
    device = Device(itertools.repeat(Step()))
    device.moved = {"TransferToDevice_bytes": 1000.0}
    measurement = begin(device=device, iterations_per_run=2)
    plain = device.step

    def moving(args, kwargs):
        device.moved["TransferToDevice_bytes"] += 64.0
        return plain(args, kwargs)

    measurement.timed.step = moving
    assert measured(measurement).metrics["xla_TransferToDevice_bytes"] == [128.0] * 8


def test_pure_wall_time_is_the_devices_own(begin):
    """The blocks' times are the timer's, whatever the host's clock says; each iteration is marked."""
    device, spans = Device(itertools.repeat(Step(run_s=3.0))), []
    timer = types.SimpleNamespace(begin=lambda: None, end=lambda: spans.append(0.5), seconds=lambda: take(spans))
    device.timer = lambda: timer
    found = measured(begin(device=device, iterations_per_run=2, changes={"pure_wall_time": True})).metrics
    assert found["total_time"] == [1.0] * 8


def take(spans):
    total = sum(spans)
    spans.clear()
    return total


def test_pure_wall_time_without_events_is_refused(begin):
    """Else the host's clock would be reported under the device's name."""
    with pytest.raises(RuntimeError, match="no timing events"):
        begin(Step(), changes={"pure_wall_time": True})


def test_a_host_backend_has_no_trace_time(begin):
    device = Device(itertools.repeat(Step(trace_s=0.5)))
    device.is_xla = False
    found = measured(begin(device=device)).metrics
    assert not [key for key in found if key.startswith(("trace_", "xla_"))]


def test_fallbacks_are_counted_per_steady_iteration(begin):
    """What compiling called is told apart, and no trace time is given where the step itself reads."""
    found = measured(begin(Step(calls={"nonzero": 5}), Step(calls={"nonzero": 2}), iterations_per_run=2))
    (op,) = found.fallback_ops
    assert (op.op, op.calls_per_iteration, op.calls_compile) == ("nonzero", 2.0, 5 + 2 * 9)
    assert "trace_total_time" not in found.metrics


def test_set_up_and_steady_part_have_a_peak_each(begin, resident):
    """The high-water mark is reset between them; what was there before the model counts to neither."""
    measurement = begin(Step())
    measurement.first()
    resident.peak, resident.now = 900, 300
    measurement.warm_up()
    resident.peak = 450
    measurement.turn(Turn(5, 0))
    found = measurement.report().metrics
    assert (found["setup_peak_memory_bytes"], found["peak_memory_bytes"]) == ([800.0], [350.0])
    assert measurement.device.events.count("memory_reset") == 1


def test_a_second_warm_up_cannot_lower_the_peak_of_set_up(begin, resident):
    measurement = begin(*[Step()] * 5, Step(compiles=1), Step())
    measurement.first()
    resident.peak, resident.now = 900, 300
    measurement.warm_up()
    assert not measurement.turn(Turn(5, 0)).steady
    measurement.warm_up()
    measurement.turn(Turn(5, 0))
    found = measurement.report().metrics
    assert (found["setup_peak_memory_bytes"], found["peak_memory_bytes"]) == ([800.0], [200.0])


def test_a_fixed_number_of_blocks_has_no_steady_peak(begin, resident):
    """Nobody knew where the steady part would begin, so the mark was never reset."""
    measurement = begin(Step())
    measurement.first()
    resident.peak = 900
    measurement.exactly(10)
    found = measurement.report().metrics
    assert found["setup_peak_memory_bytes"] == [800.0]
    assert "peak_memory_bytes" not in found


def test_a_device_with_memory_of_its_own_is_asked_for_both_peaks(begin):
    """A ratio must not mix the host's memory with the device's."""
    device = Device(itertools.repeat(Step()))
    device.peak = 7000
    measurement = begin(device=device)
    measurement.first()
    measurement.warm_up()
    device.peak = 5000
    measurement.turn(Turn(5, 0))
    found = measurement.report().metrics
    assert (found["setup_peak_memory_bytes"], found["peak_memory_bytes"]) == ([7000.0], [5000.0])


def test_a_step_that_fails_leaves_what_was_measured(begin):
    measurement = begin(Step(), Step(), Step(raises=ValueError("broken")))
    measurement.first()
    with pytest.raises(ValueError, match="broken"):
        measurement.warm_up()
    found = measurement.report()
    assert (found.blocks.kind, found.metrics["total_time"]) == (["first", "warmup"], [1.0, 1.0])


def test_metrics_are_lists_of_numbers(begin):
    found = measured(begin(Step())).metrics
    assert all(isinstance(value, float) for values in found.values() for value in values)
    alone = {key for key, values in found.items() if len(values) == 1}
    assert {len(values) for key, values in found.items() if key not in alone} == {8}
    assert {"load_time_s", "runtime_start_s", "setup_peak_memory_bytes", "peak_memory_bytes"} <= alone


def test_effective_variables_are_those_that_change_timing(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--some")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("UNRELATED", "x")
    monkeypatch.setenv("OMP_ODD", "a\udcff")  # a byte that is no UTF-8
    found = effective_variables()
    assert msgspec.json.decode(msgspec.json.encode(found))["OMP_ODD"] == r"a\udcff"
    assert (found["XLA_FLAGS"], found["OMP_NUM_THREADS"]) == ("--some", "3")
    assert "UNRELATED" not in found
    assert "PATH" not in found


@pytest.mark.parametrize(("asked", "warnings"), [(None, 0), (2, 0), (4, 1)])
def test_a_batch_size_is_not_ignored_in_silence(begin, asked, warnings):
    """Some models of torchbench keep their own whatever is asked for."""
    measurement = begin(Step())
    measurement.timed._load = msgspec.structs.replace(measurement.timed._load, batch_size=asked)
    found = measurement.timed.other_batch()
    assert len(found) == warnings
    assert all(text == "batch size 4 was requested, but the model fixes it at 2" for text in found)


def test_results_that_cannot_be_kept_are_a_warning(begin):
    """The measurement stands."""
    measurement = begin(Step())
    [warning] = timed_results.keep("/nowhere/results.pt", measurement.timed, measurement._config)
    assert "the results of this process are not kept" in warning
