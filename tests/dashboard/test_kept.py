"""What readers share is kept up to a number of bytes: made once, the least recently used goes first."""

import threading

import pytest

from dashboard.data.run_subsets import ByteLimitedCache, size_of

SIZE = 10_000


@pytest.fixture
def made():
    return []


@pytest.fixture
def ask(made):
    kept = ByteLimitedCache(int(3.5 * SIZE))

    def asked(key, size=SIZE):
        return kept.get(key, lambda: made.append(key) or bytes(size))

    asked.kept = kept
    return asked


def test_what_is_kept_is_not_made_again(ask, made):
    first = ask("a")
    assert ask("a") is first
    assert made == ["a"]


def test_the_least_recently_used_goes_when_the_bytes_are_full(ask, made):
    for key in ("a", "b", "c", "a", "d"):
        ask(key)
    assert ask("a")
    assert made == ["a", "b", "c", "d"]
    ask("b")
    assert made == ["a", "b", "c", "d", "b"]


def test_the_newest_stays_however_large(ask, made):
    ask("a")
    ask("huge", 10 * SIZE)
    ask("huge", 10 * SIZE)
    assert made == ["a", "huge"]
    ask("a")
    ask("huge", 10 * SIZE)
    assert made == ["a", "huge", "a", "huge"]


def test_two_at_the_same_time_make_it_once_and_others_need_not_wait(ask, made):
    begun, go = threading.Event(), threading.Event()

    def slow():
        made.append("slow")
        begun.set()
        assert go.wait(60)
        return b"slow"

    both = [threading.Thread(target=ask.kept.get, args=("slow", slow)) for _ in range(2)]
    for each in both:
        each.start()
    assert begun.wait(60)
    ask("other")
    go.set()
    for each in both:
        each.join(60)
    assert made == ["slow", "other"]


def test_what_could_not_be_made_is_tried_again(ask):
    def broken():
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            ask.kept.get("a", broken)
    assert ask("a") == bytes(SIZE)


def test_a_size_has_all_that_a_value_leads_to_once():
    part = bytes(SIZE)
    assert SIZE < size_of([part, part]) < 2 * SIZE
    assert size_of({"a": [part, bytes(SIZE + 1)]}) > 2 * SIZE
    assert size_of(size_of) == 0
