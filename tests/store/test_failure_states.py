"""What the newest answers of a series say: new, flaky, persistent, fixed."""

from collections import defaultdict

import pytest

from store import query
from tests.store.factory import DAY, RUN_START, later

OUTCOMES = {
    "": [],
    "P": [later()],
    "F": [later(status="crashed", message="killed by signal 11")],
    "W": [later(verification_code="FAIL")],
    "N": [later(status="never_steady")],
    "S": [later(status="skipped", message="no compiler")],
    "R": [later(status="crashed", message="killed by signal 11"), later(attempt=2)],
    "T": [later(status="crashed", message="once"), later(status="crashed", message="twice", attempt=2)],
}


STATES = {
    "PPPF": ("new", 1, 4, 1, "run-4"),
    "F": ("new", 1, 1, 1, "run-1"),
    "PPPT": ("new", 1, 4, 1, "run-4"),
    "PPW": ("new", 1, 3, 1, "run-3"),
    "PPFF": ("persistent", 2, 4, 2, "run-3"),
    "FF": ("persistent", 2, 2, 2, "run-1"),
    "FFP": ("fixed", 2, 3, 1, "run-3"),
    "FPP": ("fixed", 1, 3, 2, "run-2"),
    "PPPP": ("passing", 0, 4, 4, "run-1"),
    "PFPF": ("flaky", 2, 4, 1, "run-4"),
    "PFP": ("flaky", 1, 3, 1, "run-3"),
    "PPR": ("flaky", 1, 3, 1, "run-3"),
    "PRPP": ("flaky", 1, 4, 2, "run-3"),
    "FN": ("fixed", 1, 2, 1, "run-2"),
    "FSF": ("persistent", 2, 2, 2, "run-1"),
}
"""The answers of a series from the oldest day on: its state, failures, answers, length and beginning of the streak."""


OTHERS = {
    "last": [OUTCOMES[day] for day in "FFPPP"],
    "retried in vain": [OUTCOMES["P"], OUTCOMES["T"]],
    "wrong": [OUTCOMES["W"]],
    "a process among others": [
        [later(status="crashed"), later(replica=1), later(attempt=2), later(attempt=2, replica=1)]
    ],
    "settings": [[later(status=status), later(backend="eager"), later(dtype="bfloat16")] for status in ("ok", "oom")],
}
"""The records of further series, by model and day."""


@pytest.fixture(scope="module")
def con(ingested):
    """A store in which each of these is a model."""
    histories = {days: [OUTCOMES[day] for day in days] for days in STATES} | OTHERS
    runs = []
    for number in range(5):
        facts = {"run_id": f"run-{number + 1}", "timestamp": RUN_START + (number + 1) * DAY}
        makers = ((model, one) for model, days in histories.items() for one in (*days, *[[]] * 5)[number])
        runs.append(([one(model=model, **facts) for model, one in makers], ()))
    with query.connect(ingested(*runs)) as opened:
        yield opened


def states(con, last_n=5, until=None):
    """Return the states of series, by model and then in the order of their settings."""
    asked = "SELECT * FROM failure_states($n, until := $until) ORDER BY model, backend, dtype"
    found = defaultdict(list)
    for row in query.fetch(con, asked, {"n": last_n, "until": until}):
        found[row["model"]].append(row)
    return found


@pytest.fixture(scope="module")
def failure_states(con):
    return states(con)


def test_the_state_of_a_series(failure_states):
    """A retry that passes is flaky and not new; a skip is no answer; a day without an experiment changes nothing."""
    keys = ("state", "failed_n", "answered_n", "streak_n", "since_run_id")
    found = {model: tuple(rows[0][key] for key in keys) for model, rows in failure_states.items() if model in STATES}
    assert found == STATES


def test_only_the_last_answers_count(con):
    found = {n: states(con, n)["last"][0] for n in (3, 4, 5)}
    assert [row["state"] for row in found.values()] == ["passing", "fixed", "fixed"]
    assert found[3]["pattern"] == "PPP"


def test_the_state_at_an_earlier_time(con):
    [(until,)] = con.execute("SELECT DISTINCT run_started FROM results WHERE run_id = 'run-2'").fetchall()
    [row] = states(con, until=until)["PFP"]
    assert (row["state"], row["run_id"], row["before_run_id"]) == ("new", "run-2", "run-1")


def test_a_fixed_failure_still_says_what_it_was(failure_states):
    [row] = failure_states["FPP"]
    assert (row["status"], row["failure_run_id"], row["failure_status"]) == ("ok", "run-1", "crashed")
    assert (row["failure_reason"], row["error_signature"]) == ("killed by signal 11",) * 2


def test_a_wrong_answer_says_so(failure_states):
    [row] = failure_states["wrong"]
    assert (row["status"], row["failure_reason"]) == ("ok", "wrong answer: verification FAIL")


def test_a_failure_that_was_retried_in_vain_shows_its_attempt(failure_states):
    [row] = failure_states["retried in vain"]
    assert (row["state"], row["attempt"], row["failure_reason"]) == ("new", 2, "twice")


def test_a_failed_process_among_others_that_ran_is_no_failure(failure_states):
    assert [row["state"] for row in failure_states["a process among others"]] == ["passing"]


def test_each_series_has_its_own_state(failure_states):
    found = [(row["backend"], row["dtype"], row["state"]) for row in failure_states["settings"]]
    assert found == [
        ("eager", "float32", "passing"),
        ("inductor", "bfloat16", "passing"),
        ("inductor", "float32", "new"),
    ]
