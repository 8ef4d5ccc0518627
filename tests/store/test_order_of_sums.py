"""Means of views add their values in one order: in that of threads, the last digit would differ between two calls."""

import re
from pathlib import Path

import pytest

import store

VIEWS = sorted((Path(store.__file__).parent / "views").glob("*.sql"))


@pytest.mark.parametrize("path", VIEWS, ids=lambda path: path.stem)
def test_each_mean_orders_what_it_adds(path):
    text = re.sub(r"--[^\n]*", "", path.read_text())
    means = re.findall(r"\b(?:avg|stddev_samp)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", text)
    assert [mean for mean in means if " ORDER BY " not in mean] == []
