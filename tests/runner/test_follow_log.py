"""Lines of a growing log, each shown once and whole."""

import pytest

from runner.schedule.benchmark_process import LogFollower


@pytest.fixture
def log(tmp_path):
    return tmp_path / "a.log"


def test_lines_are_shown_as_they_are_finished(log):
    shown = []
    log.touch()
    follower = LogFollower(log, shown.append)
    for text in ("one\ntw", "o\n", "", "three"):
        with log.open("a") as sink:
            sink.write(text)
        follower.new()
    assert shown == ["  | one", "  | two"]
    follower.rest()
    assert shown[2:] == ["  | three"]
    follower.rest()
    assert len(shown) == 3


def test_what_an_earlier_process_printed_is_not_shown_again(log):
    log.write_text("before\n")
    shown = []
    follower = LogFollower(log, shown.append)
    with log.open("a") as sink:
        sink.write("now\n")
    follower.rest()
    assert shown == ["  | now"]


def test_a_line_cut_in_the_middle_of_a_letter_is_whole(log):
    shown = []
    log.touch()
    follower = LogFollower(log, shown.append)
    first, second = "é\n".encode()[:1], "é\n".encode()[1:]
    for part in (first, second):
        with log.open("ab") as sink:
            sink.write(part)
        follower.new()
    assert shown == ["  | é"]
