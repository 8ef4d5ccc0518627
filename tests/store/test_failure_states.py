"""What the newest answers of a series say: new, flaky, persistent, fixed."""

import functools

from store import query
from tests.store.factory import later

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


def states(con, last_n=5, until=None):
    return query.fetch(con, "SELECT * FROM failure_states($n, until := $until)", {"n": last_n, "until": until})


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


def test_the_state_of_a_series(stored_runs):
    """A retry that passes is flaky and not new; a skip is no answer; a day without an experiment changes nothing."""
    con = stored_runs(
        *(
            [functools.partial(one, model=days) for days in STATES for one in OUTCOMES[days[day : day + 1]]]
            for day in range(4)
        )
    )
    keys = ("state", "failed_n", "answered_n", "streak_n", "since_run_id")
    assert {row["model"]: tuple(row[key] for key in keys) for row in states(con)} == STATES


def test_only_the_last_answers_count(stored_runs):
    con = stored_runs(*(OUTCOMES[day] for day in "FFPPP"))
    assert [states(con, n)[0]["state"] for n in (3, 4, 5)] == ["passing", "fixed", "fixed"]
    assert states(con, 3)[0]["pattern"] == "PPP"


def test_the_state_at_an_earlier_time(stored_runs):
    con = stored_runs(*(OUTCOMES[day] for day in "PFP"))
    [(until,)] = con.execute("SELECT DISTINCT run_started FROM results WHERE run_id = 'run-2'").fetchall()
    [row] = states(con, until=until)
    assert (row["state"], row["run_id"], row["before_run_id"]) == ("new", "run-2", "run-1")


def test_a_fixed_failure_still_says_what_it_was(stored_runs):
    [row] = states(stored_runs(OUTCOMES["F"], OUTCOMES["P"]))
    assert (row["status"], row["failure_run_id"], row["failure_status"]) == ("ok", "run-1", "crashed")
    assert (row["failure_reason"], row["error_signature"]) == ("killed by signal 11",) * 2


def test_a_wrong_answer_says_so(stored_runs):
    [row] = states(stored_runs(OUTCOMES["W"]))
    assert (row["status"], row["failure_reason"]) == ("ok", "wrong answer: verification FAIL")


def test_a_failure_that_was_retried_in_vain_shows_its_attempt(stored_runs):
    [row] = states(stored_runs(OUTCOMES["P"], OUTCOMES["T"]))
    assert (row["state"], row["attempt"], row["failure_reason"]) == ("new", 2, "twice")


def test_a_failed_process_among_others_that_ran_is_no_failure(stored_runs):
    con = stored_runs([later(status="crashed"), later(replica=1), later(attempt=2), later(attempt=2, replica=1)])
    assert states(con)[0]["state"] == "passing"


def test_each_series_has_its_own_state(stored_runs):
    con = stored_runs(
        [later(), later(backend="eager"), later(dtype="bfloat16")],
        [later(status="oom"), later(backend="eager"), later(dtype="bfloat16")],
    )
    found = {(row["backend"], row["dtype"]): row["state"] for row in states(con)}
    assert found == {
        ("inductor", "float32"): "new",
        ("inductor", "bfloat16"): "passing",
        ("eager", "float32"): "passing",
    }
