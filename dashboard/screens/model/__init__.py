"""Model: one model under all backends; then one result of it, down to its samples, files and record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dashboard import data, empty, frame, links, tables
from dashboard.rows import with_series
from dashboard.screens.model import details, ladder, sides, steps
from dashboard.tables import Column
from dashboard.words import count, escape
from store.metrics import metric

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.view import View

TITLE = "Model"
_WITHIN_MODEL = ("backend", "accelerator", "dtype")
"""Filters that narrow the results of one model."""


def show(view: View) -> None:
    """Draw the model that the filters leave, or the list to choose one from."""
    every = data.sides(view.snapshot, view.selection.without(_WITHIN_MODEL))
    found = data.filtered_rows(every, view.selection, _WITHIN_MODEL)
    models = found[["suite", "model", "test"]].drop_duplicates()
    if models.empty:
        frame.head(TITLE, view, [], 0, baseline=True)
        empty.no_rows(view.selection, "results")
    elif len(models) > 1:
        _choose(view)
    else:
        suite, model, test = (str(name) for name in models.iloc[0])
        mine = (every["suite"] == suite) & (every["model"] == model) & (every["test"] == test)
        _one(view, named(found), beside=tuple(every.loc[mine, "record_id"].dropna()))


def _choose(view: View) -> None:
    models = data.rows(view.snapshot, "model_list", view.selection)
    named, tests = len(models[["suite", "model"]].drop_duplicates()), sorted(models["test"].unique())
    where = f", in {escape(' and '.join(tests))}," if len(tests) > 1 else ""
    said = f"{count(named, 'model')} of this run{where} pass the filters: select one"
    frame.head(TITLE, view, [said], int(models["results_n"].sum()), baseline=False)
    columns = {
        "model": Column("Model", pinned=True),
        "suite": Column("Suite"),
        "test": Column("Test"),
        "results_n": Column("Results", "number", help=metric("results_n").definition),
        "ran_n": Column("Ran", "number", help=metric("ran_n").definition),
        "failed_n": Column("Failed", "number", help=metric("failed_n").definition),
        "backends": Column("Backends"),
    }
    picked = tables.show(
        models,
        columns,
        key="model-list",
        alt="Models of the run; select one to open it",
        file_name=view.file_name("models"),
        sql=data.statement("model_list", view.selection),
        on_select="rerun",
    )
    if picked is not None and picked < len(models):
        row = models.iloc[picked]
        links.go(view, "model", suite=row["suite"], model=row["model"], test=row["test"])


def _one(view: View, rows: pd.DataFrame, beside: tuple[str, ...]) -> None:
    """Draw one model of one test.

    Args:
        view: what is shown.
        rows: its results that pass the filters, with names.
        beside: records of all of its results.
    """
    suite, model, test = (str(rows[name].iloc[0]) for name in ("suite", "model", "test"))
    selection = replace(view.selection, suite=(suite,), model=(model,), test=(test,))
    said = sides.answers(rows, view, f"{model} ({suite}, {test})")
    frame.head(TITLE, view, said, len(rows), baseline=True, of_one_model=True)
    sides.show(view, rows, selection)
    steps.show(view, suite, model, test)
    ladder.show(view, suite, model, test)
    details.show(view, rows, beside)


def named(rows: pd.DataFrame) -> pd.DataFrame:
    """Give each result a name of its own: the variant and every setting in which results differ."""
    found = with_series(rows)
    if len(found["accelerator"].unique()) > 1:
        found["series"] = found["series"] + " · " + found["accelerator"]
    again = found.groupby("series").cumcount()
    return found.assign(series=found["series"].where(again == 0, found["series"] + " · " + (again + 1).astype(str)))
