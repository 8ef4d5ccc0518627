"""`xlabench backup`: keep what people typed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from xlabench.command import EXIT_DONE, state_of, verb

if TYPE_CHECKING:
    import argparse

    from xlabench.command import Verbs


def add(verbs: Verbs) -> None:
    """Add the verb and its argument."""
    parser = verb(
        verbs,
        "backup",
        _backup,
        "Copy state.sqlite, which holds everything that users entered, to a new file.",
        "The copy is consistent even while the database is in use. Runs are plain files, and the index can be rebuilt "
        "from them, so neither needs this command.",
    )
    parser.add_argument("target", type=Path, metavar="FILE", help="path of the copy; the file must not exist yet")


def _backup(parsed: argparse.Namespace) -> int:
    from store.state.database import backup

    backup(state_of(parsed), parsed.target)
    print(f"Copied {state_of(parsed)} to {parsed.target}.")
    return EXIT_DONE
