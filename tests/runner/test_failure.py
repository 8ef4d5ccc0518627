"""The names of what went wrong."""

import os
import signal

import msgspec
import pytest

from runner.failure import describe, of_exit, status_of
from store.record import Error


class OutOfMemoryError(RuntimeError):
    """Named as `torch.OutOfMemoryError` is."""


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 10 GiB"),
        OutOfMemoryError("Allocation on device"),
        RuntimeError("RESOURCE_EXHAUSTED: Attempting to reserve 3.05G at the bottom of memory."),
        RuntimeError("Bad StatusOr access: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4 bytes"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 4 bytes"),
        OSError(12, "Cannot allocate memory"),
    ],
)
@pytest.mark.parametrize("phase", ["load", "compile", "measure"])
def test_out_of_memory_is_known_by_type_or_message_in_every_phase(phase, error):
    assert status_of(phase, error) == "oom"


@pytest.mark.parametrize(
    ("phase", "status"),
    [("load", "load_error"), ("compile", "compile_error"), ("warmup", "run_error"), ("measure", "run_error")],
)
def test_other_exceptions_are_named_by_phase(phase, status):
    assert status_of(phase, ValueError("wrong shape")) == status


def test_an_exception_keeps_type_message_and_traceback():
    with pytest.raises(ValueError, match="wrong shape") as caught:
        raise ValueError("wrong shape")
    error = describe("compile", caught.value)
    assert (error.phase, error.type, error.message) == ("compile", "ValueError", "wrong shape")
    assert "in test_an_exception_keeps_type_message_and_traceback" in error.traceback


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_an_exception_without_words_is_told_by_its_type(text):
    assert describe("load", RuntimeError(text)).message == "RuntimeError"


def test_an_exit_of_the_models_code_is_no_number():
    """It read `run_error in measure: 0`."""
    assert describe("measure", SystemExit(0)).message == "the model's code called sys.exit(0)"


def test_a_long_message_is_cut():
    assert len(describe("load", RuntimeError("x" * 9000)).message) == 2000


def wait_status(*, code=0, number=0):
    status = number or code << 8
    assert os.waitstatus_to_exitcode(status) == (-number if number else code)
    return status


def test_a_signal_is_named():
    status, error = of_exit("warmup", wait_status(number=signal.SIGSEGV), "Fatal Python error")
    assert (status, error.phase, error.type, error.signal) == ("crashed", "warmup", "SIGSEGV", 11)
    assert error.message == "the benchmark process was killed by SIGSEGV"
    assert error.traceback == "Fatal Python error"


def test_a_signal_without_a_name_is_no_reason_to_fail():
    """Real-time signals have numbers only."""
    status, error = of_exit("load", wait_status(number=signal.SIGRTMIN + 3), "")
    assert (status, error.signal) == ("crashed", signal.SIGRTMIN + 3)
    assert str(signal.SIGRTMIN + 3) in error.message


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGKILL])
def test_a_killed_process_whose_log_speaks_of_memory_ran_out_of_it(number):
    log = "terminate called after throwing an instance of 'std::bad_alloc'"
    assert of_exit("measure", wait_status(number=number), log)[0] == "oom"


def test_a_process_that_the_kernel_killed_for_memory_says_where_and_what_to_do():
    status, error = of_exit("compile", wait_status(number=signal.SIGKILL), "", oom_kill=True)
    assert (status, error.type, error.signal) == ("oom", "SIGKILL", 9)
    assert error.message == (
        "the benchmark process was killed by SIGKILL in phase compile: the kernel had no memory left; "
        "use a smaller batch (--batch-size), or stop other programs"
    )


def test_an_exit_code_is_kept():
    status, error = of_exit("measure", wait_status(code=7), "")
    assert (status, error.type, error.exit_code, error.signal) == ("crashed", "Exit", 7, None)
    assert "code 7" in error.message
    assert error.traceback is None


def test_an_exit_whose_log_speaks_of_memory_ran_out_of_it():
    assert of_exit("load", wait_status(code=1), "MemoryError: out of memory")[0] == "oom"


class Unspeakable(Exception):
    """An error whose message is an error, as those of some libraries after a fork."""

    def __str__(self):
        raise ValueError("no")


def test_an_error_that_cannot_be_told_is_named():
    described = describe("measure", Unspeakable())
    assert (described.type, described.message) == (
        "Unspeakable",
        "its message cannot be shown: its __str__ raised ValueError",
    )
    assert status_of("load", Unspeakable()) == "load_error"


def test_an_error_can_be_stored_whatever_its_message_holds():
    """A lone surrogate comes from a file name that is no UTF-8; no line of results may be longer than 16 MiB."""
    described = describe("measure", ValueError("\udcff" + "x" * 20_000_000))
    assert msgspec.json.decode(msgspec.json.encode(described), type=Error) == described
    assert described.message.startswith("\\udcffxxx")
    assert len(described.traceback) < 1.1 * 2**20
    assert described.traceback.startswith("ValueError: ")
    assert "characters left out" in described.traceback
