"""The wire between scheduler, server and benchmark process."""

import socket
import threading

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from runner_makers import config, loaded, report, settings

from runner.messages import (
    CONTROL_BYTES,
    Answer,
    Channel,
    Closed,
    Command,
    Exactly,
    Exited,
    Failed,
    Finish,
    Fork,
    Forked,
    Garbled,
    Hello,
    Load,
    MeasuredTimes,
    Pause,
    Paused,
    Progress,
    ServerAnswer,
    Turn,
    TurnDone,
    WarmedUp,
    WarmUp,
)
from store.record import Error

LOAD = Load(config=config(), settings=settings(), batch_size=None, torchbench_dir=None, requested_at=1.5)
ERROR = Error(phase="load", type="ValueError", message="no")


@pytest.fixture
def pair():
    one, other = socket.socketpair()
    with one, other:
        yield one, other


@pytest.mark.parametrize(
    "message", [LOAD, WarmUp(), Exactly(3), Turn(5, 2, 1), Pause(), Finish()], ids=lambda m: type(m).__name__
)
def test_commands_arrive_as_they_were_sent(pair, message):
    Channel(pair[0]).send(message)
    assert Channel(pair[1]).receive(Command) == message


@pytest.mark.parametrize(
    "message",
    [
        Progress("load"),
        loaded(),
        WarmedUp(steady=True, blocks=5),
        TurnDone(steady=False),
        TurnDone(steady=True, enough=False),
        Paused(),
        MeasuredTimes(report()),
        report(),
        Failed(status="oom", error=ERROR, report=report()),
    ],
    ids=lambda m: type(m).__name__,
)
def test_answers_arrive_as_they_were_sent(pair, message):
    Channel(pair[0]).send(message)
    assert Channel(pair[1]).receive(Answer) == message


@pytest.mark.parametrize(
    "message",
    [Hello(import_s=1.0, probe_s=None), Forked(1, 2), Exited(1, 9)],
    ids=lambda m: type(m).__name__,
)
def test_the_servers_messages_can_be_told_apart(message):
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=ServerAnswer) == message


def test_a_request_to_fork_fits_into_one_control_message():
    """Even with many variables; the control socket keeps message boundaries."""
    variables = {f"VARIABLE_{index}": "x" * 100 for index in range(100)}
    assert len(msgspec.msgpack.encode(Fork(child=1, variables=variables))) < CONTROL_BYTES


class Trickle:
    """A socket that hands out at most `size` bytes at a time."""

    def __init__(self, sock, size):
        self._sock, self._size = sock, size

    def recv(self, count):
        return self._sock.recv(min(count, self._size))


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=4), st.integers(1, 7))
def test_messages_are_put_together_from_any_pieces(sizes, piece):
    """A stream has no boundaries: what was sent together arrives apart, and the other way round."""
    one, other = socket.socketpair()
    with one, other:
        sender, receiver = Channel(one), Channel(Trickle(other, piece))
        sent = [loaded(warnings=["é" * size]) for size in sizes]
        for message in sent:
            sender.send(message)
        assert [receiver.receive(Answer) for _ in sent] == sent


def test_a_message_larger_than_the_sockets_buffer_arrives(pair):
    big = report(times=tuple(float(index) for index in range(100_000)))
    thread = threading.Thread(target=Channel(pair[0]).send, args=(big,))
    thread.start()
    assert Channel(pair[1]).receive(Answer) == big
    thread.join()


def test_the_end_of_the_stream_is_closed(pair):
    pair[0].close()
    with pytest.raises(Closed):
        Channel(pair[1]).receive(Answer)


@pytest.mark.parametrize("part", [b"\x00\x00", b"\x00\x00\x00\x09abc"])
def test_an_end_within_a_message_is_closed(pair, part):
    """A process that was killed while it spoke has said nothing."""
    pair[0].sendall(part)
    pair[0].close()
    with pytest.raises(Closed):
        Channel(pair[1]).receive(Answer)


def test_sending_to_nobody_is_closed(pair):
    pair[1].close()
    with pytest.raises(Closed):
        Channel(pair[0]).send(Finish())


def test_what_was_said_before_the_end_is_still_heard(pair):
    """The last words of a failing process, although a command of ours was never read."""
    Channel(pair[0]).send(Finish())
    Channel(pair[1]).send(TurnDone(steady=True))
    pair[1].close()
    assert Channel(pair[0]).receive(Answer) == TurnDone(steady=True)
    with pytest.raises(Closed):
        Channel(pair[0]).receive(Answer)


def test_a_message_of_the_wrong_kind_is_refused(pair):
    Channel(pair[0]).send(Finish())
    with pytest.raises(Garbled):
        Channel(pair[1]).receive(Answer)


@pytest.mark.parametrize("written", [b"a line\n", b"\xff" * 100, b"\0" * 100, b"\0\0\0\1\xc1"])
def test_what_is_no_message_is_refused_without_waiting_for_its_end(pair, written):
    """A model's code that writes into every descriptor it finds; the first bytes would be a length of gigabytes."""
    pair[0].sendall(written)
    with pytest.raises(Garbled):
        Channel(pair[1]).receive(Answer)
