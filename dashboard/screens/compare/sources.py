"""The SQL that a comparison is made from: verdicts are statistics over what these statements give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboard import data, literals
from store.compare.cells import ALIKE
from store.query import named

if TYPE_CHECKING:
    from dashboard.view import View
    from store.review import Review


def statements(view: View, found: Review) -> dict[str, str]:
    """Return each statement with its values written out, by what it gives."""
    runs = sorted({found.old.run_id, found.new.run_id})
    made = {
        "Rounds of the processes of A": _written("process_rounds", run=found.old.run_id),
        "Rounds of the processes of B": _written("process_rounds", run=found.new.run_id),
        "Noise floors: pairs of equal processes of other runs": _written("aa_pairs", runs=runs),
        "How far runs of different days lie apart": _written("between_runs", runs=runs),
        "Measurement warnings": _written("findings", runs=runs),
        "Programs that differ": data.statement("structure", view.selection.unfiltered(), **structure(found)),
    }
    for accelerator in _accelerators(found):
        of = {"runs": runs, "accelerator": accelerator}
        made[f"Outcomes on {accelerator}"] = _written("weekly_results", **of)
        made[f"Fallback ops on {accelerator}"] = _written("weekly_fallbacks", **of)
    return made


def structure(found: Review) -> dict[str, str | None]:
    """Return what the query `structure` takes: two runs, and the environments or backends that are compared."""
    wanted: dict[str, str | None] = {}
    for name, side in (("a", found.old), ("b", found.new)):
        wanted |= {name: side.run_id, f"environment_{name}": side.environment, f"variant_{name}": side.variant}
    return wanted


def _accelerators(found: Review) -> list[str]:
    place = ALIKE.index("accelerator")
    return sorted({str(cell.alike[place]) for cell in found.comparison.cells} | {f.accelerator for f in found.findings})


def _written(name: str, **params: Any) -> str:
    return literals.written_out(named(name), params).rstrip()
