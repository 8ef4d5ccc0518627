"""Pages without results: an empty store, imports alone, pruned samples, or filters that leave no row."""

from __future__ import annotations

import shlex
from pathlib import Path

import streamlit as st

from dashboard import data, settings
from dashboard.data import snapshot
from dashboard.formatting import count, error_text, escape, listed, missing
from dashboard.ui import downloads, tables
from dashboard.ui.tables import TableColumn, measured
from dashboard.view import View, ViewSelection, filters
from store.query import DEFAULT_BASELINE


def store(title: str, store_dir: Path, imports: int) -> None:
    """Show how to fill a store without a run, and mention the number of imports of published numbers."""
    st.title(title, anchor=False)
    if imports:
        st.markdown(
            f"**{count(imports, 'import')} of published numbers, and no run measured here.** Published numbers have no "
            "samples, so this page cannot judge them; they are listed below as published. The page shows results "
            "as soon as one of these commands has stored a run:"
        )
    else:
        st.markdown(
            "**No results yet.** The dashboard shows results as soon as one of these commands has stored a run:"
        )
    with st.container(width=720):
        st.markdown("1. Measure two well-known models on the CPU, under all backends:")
        downloads.command("xlabench run --smoke")
        st.markdown("2. Measure a model of your own, or models of your choice:")
        downloads.command("xlabench run mymodel.py\nxlabench run --suite-name timm_models --filter resnet18")
        st.markdown("3. Ingest existing results: run folders, or a `results.jsonl` of PyTorch/XLA's benchmark runner:")
        downloads.command("xlabench ingest PATH")
        st.caption("The page looks for new results every few seconds; no restart is needed. Store folder:")
        downloads.copyable(str(store_dir))


def unreadable(title: str, why: str) -> None:
    """Show the reason why the index cannot be read, and the next step."""
    st.title(title, anchor=False)
    st.warning(error_text(why), icon=":material/database_off:")
    if "xlabench ingest" in why:
        st.markdown("The command for this store:")
        rebuild = ["--rebuild"] if "--rebuild" in why else []
        with st.container(width=720):
            downloads.command(shlex.join(["xlabench", "ingest", *settings.store_flags(), *rebuild]))


def too_little_memory() -> str:
    """Return what to do where a query needs more memory than all of them may have."""
    limit = settings.query_memory() or "DuckDB's own"
    return (
        f"This page needs more memory than its queries may use ({limit}). "
        f"Start the server with a larger limit, such as {settings.MEMORY_VARIABLE}=1GB."
    )


def no_rows(selection: ViewSelection, what: str) -> None:
    """Say which filters leave nothing, and offer to clear them."""
    active = selection.active()
    if not active:
        st.info(f"This run has no {what}.", icon=":material/info:")
        return
    filter_text = " · ".join(f"{word}: {escape(listed(values, 4))}" for word, values in active.items())
    st.info(f"No {what} in this run pass the filters ({filter_text}).", icon=":material/filter_alt:")
    st.button("Clear filters", on_click=filters.clear, key="clear-here", type="primary")


_ALL = ViewSelection(run_id="", baseline=DEFAULT_BASELINE)
"""Selection without run and filters, as the tables of imports contain all of them."""


def imports_n(snapshot_path: str) -> int:
    """Return how many imports a snapshot has."""
    return len(data.rows(snapshot_path, "reported_runs", _ALL))


def show_store(title: str) -> None:
    """Draw a page for a store without a run: how to fill it, and its imports."""
    snapshot_path = snapshot.held()
    store(title, settings.store_dir(), imports_n(str(snapshot_path)) if snapshot_path else 0)
    if snapshot_path:
        show_imports(str(snapshot_path))


def show_imports(snapshot_path: str) -> None:
    """Draw the imports; nothing if there are none."""
    imports = data.rows(snapshot_path, "reported_runs", _ALL)
    if imports.empty:
        return
    st.subheader("Imported: reported by others", anchor=False)
    st.caption(
        f"{count(len(imports), 'import')}. These numbers came without samples: they have no interval and no verdict, "
        "and are in no rate or mean of the other pages."
    )
    columns = {
        "run_label": TableColumn("Import", pinned=True),
        "source": TableColumn("Form"),
        "origin": TableColumn("Published in"),
        "run_started": TableColumn("Dated (UTC)", "time"),
        "records_n": TableColumn("Records", "number", help="Lines or cells that were read from the file."),
        "models_n": measured("models_n"),
        "tests": TableColumn("Tests"),
        "backends": TableColumn("Backends"),
        "path": TableColumn("File"),
        "run_id": TableColumn("Run id"),
    }
    tables.show(
        imports,
        tables.without_constant(columns, imports, ["origin"]) if imports["origin"].isna().all() else columns,
        data.TableSource("xlabench-reported", data.statement("reported_runs", _ALL)),
        key="reported",
        alt="Imported numbers of others",
    )
    _geomeans(snapshot_path)


def _geomeans(snapshot_path: str) -> None:
    means = data.rows(snapshot_path, "reported_geomeans", _ALL)
    if means.empty:
        return
    st.markdown("**Published tables of speedups**")
    columns = {
        "origin": TableColumn("Published in", pinned=True),
        "column_name": TableColumn("Column"),
        "suite": TableColumn("Suite"),
        "test": TableColumn("Test"),
        "accelerator_model": TableColumn("Device"),
        "backend": TableColumn("Backend"),
        "baseline": TableColumn("Over", help="The table's own baseline, in its words."),
        "geomean": measured("geomean", note="Computed from the published speedups."),
        "n": measured("n"),
        "published_geomean": measured("published_geomean"),
        "note": TableColumn("Note"),
    }
    tables.show(
        means,
        columns,
        data.TableSource("xlabench-reported-geomeans", data.statement("reported_geomeans", _ALL)),
        key="reported-geomeans",
        alt="Geometric means of published speedups",
    )


def pruned_sentence(view: View) -> str | None:
    """Return a sentence on when the samples of the shown run were pruned; None if they were not."""
    pruned_at = data.rows(view.snapshot, "pruned_samples", view.selection)["pruned_at"].iloc[0]
    if missing(pruned_at):
        return None
    return (
        f"Samples pruned on {pruned_at:%Y-%m-%d}: the index keeps the results of this run. Every timed block is still "
        "in `results.jsonl.zst` of its folder."
    )
