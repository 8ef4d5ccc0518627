"""Each page from its link to its files: filters change view and address, a reload keeps both, files hold the rows.

Thorough: test_history.py and test_evidence.py show filters, a reload and a file of one page each.
"""

import json
import re
import time
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest
from harness import PATHS, PATIENCE_S, complaints, redrawn, settled

LOOK_MS = 100
WORDS = """() => [...document.querySelectorAll('[data-testid=stMain] [data-testid=stVegaLiteChart]')]
    .reduce((words, chart) => words.replace(chart.innerText, ''),
        document.querySelector('[data-testid=stMain]').innerText)"""
MATRIX = "run=2af2f9b8-ad8b-4935-a560-fac9eedfb34c"
OF_MATRIX = (
    ("Test", "eval"),
    ("Suite", "torchbench"),
    ("Backend", "openxla+dynamo"),
    ("Model", "dcgan"),
)
READ = {
    "CSV": pd.read_csv,
    "Parquet": pd.read_parquet,
    "JSON": lambda path: pd.DataFrame(json.loads(path.read_text())),
}


class Case(NamedTuple):
    """A page with a run that has something to show there, and filters of which each leaves less of it."""

    query: str
    filters: tuple[tuple[str, str], ...] = OF_MATRIX
    opens: str = ""
    """Words of what has to be opened before a table is seen."""
    store: str = "review_url"
    """Fixture with the address of a server."""


OF_THEIR_OWN = {
    "/fallback-ops": Case(
        "run=e065a9cb-9d6c-4852-956d-b8d1b4592a62",
        (("Suite", "troubled"), ("Backend", "openxla+dynamo"), ("Model", "reads_a_value")),
    ),
    "/operators": Case(
        "run=8f5cbf5e-cdf2-4dbc-9493-ba33a5b3f5ab",
        (("Test", "eval"), ("Backend", "openxla+dynamo"), ("Model", "torch.mm(float[64,64], float[64,64])")),
        store="operators_url",
    ),
    "/trends": Case(
        "run=9f8ed5b7-d73d-4573-a4f0-ed97573cfbb4",
        (("Test", "eval"), ("Suite", "troubled"), ("Backend", "openxla+lazytensor"), ("Model", "unlucky")),
        opens="The numbers",
    ),
    "/compare": Case(
        "a=46cd25f5-818b-4138-ab42-612be2fabda1&b=45032836-1642-4ad1-b5fb-06b1800d327d",
        (("Backend", "openxla+lazytensor"), ("Suite", "huggingface"), ("Model", "BertTiny")),
    ),
}
CASES = OF_THEIR_OWN | {path: Case(MATRIX) for path in PATHS if path not in OF_THEIR_OWN}
"""Those whose controls differ, and all that are made as Overview is."""


@pytest.mark.thorough
@pytest.mark.parametrize("path", CASES)
def test_page_from_its_link_to_its_files(page, request, path, tmp_path):
    case = CASES[path]
    page.set_viewport_size({"width": 1440, "height": 1000})
    found = complaints(page)
    page.goto(f"{request.getfixturevalue(case.store)}{path}?{case.query}")
    settled(page, PATHS[path])
    first = before = shown(page)
    for label, value in case.filters:
        with redrawn(page):
            choose(page, label, value)
        before = changed(page, before)
    given = parse_qs(urlsplit(page.url).query)
    assert {label.lower(): [value] for label, value in case.filters}.items() <= given.items()
    page.reload()
    settled(page, PATHS[path])
    becomes(page, before)
    if case.opens:
        page.get_by_text(case.opens).click()
    _files_hold_the_rows(page, tmp_path)
    if case.opens:
        page.get_by_text(case.opens).click()
    with redrawn(page):
        page.get_by_test_id("stSidebar").get_by_role("button", name="Clear filters").click()
    changed(page, before)
    assert not {label.lower() for label, _ in case.filters} & set(parse_qs(urlsplit(page.url).query))
    if not case.opens:  # Trends goes on with the model that was chosen
        becomes(page, first)
    assert found == []


def choose(page, label, value):
    """Add a value to a filter; its name is then in the address."""
    box = page.get_by_test_id("stSidebar").get_by_role("combobox", name=re.compile(rf"^{label}|\b{label}$"))
    box.first.click()
    box.first.fill(value)
    page.get_by_role("option", name=value, exact=True).first.click()
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: value in parse_qs(urlsplit(url).query).get(label.lower(), []))


def shown(page):
    """Return the words of the page, without how long ago something was, and charts, which choose their own ticks."""
    words = page.evaluate(WORDS)
    return " ".join(re.sub(r"\d+ (d|h|min) ago|just now", "", words).split())


def changed(page, before):
    """Wait until what was drawn anew stands and is not as before; return it."""
    deadline, now = time.monotonic() + PATIENCE_S, ""
    while time.monotonic() < deadline:
        earlier, now = now, shown(page)
        if now not in (before, "") and now == earlier:
            return now
        page.wait_for_timeout(LOOK_MS)
    raise AssertionError("the view did not change")


def becomes(page, expected):
    """Wait until the page shows this; a page that is loaded stands by and by."""
    deadline = time.monotonic() + PATIENCE_S
    while shown(page) != expected and time.monotonic() < deadline:
        page.wait_for_timeout(LOOK_MS)
    assert shown(page) == expected


def _files_hold_the_rows(page, folder):
    """Download the first table that is seen in each form: the same rows, as many as the table has."""
    button = page.get_by_role("button", name=re.compile("rows? · files")).first
    number = int(re.search(r"([\d,]+) row", button.inner_text()).group(1).replace(",", ""))
    button.click()
    opened = page.get_by_test_id("stPopoverBody")
    frames = {label: _downloaded(page, opened, label, folder) for label in READ}
    page.keyboard.press("Escape")
    opened.wait_for(state="detached")
    for frame in frames.values():
        assert len(frame) == number
        assert list(frame.columns) == list(frames["Parquet"].columns)
    for name in frames["Parquet"].select_dtypes("number").columns:
        values = [frame[name].to_numpy(float) for frame in frames.values()]
        assert np.allclose(values[0], values[1], equal_nan=True, rtol=1e-12), name
        assert np.allclose(values[1], values[2], equal_nan=True, rtol=1e-12), name


def _downloaded(page, opened, label, folder):
    with page.expect_download() as started:
        opened.get_by_role("button", name=label, exact=True).click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return READ[label](path)
