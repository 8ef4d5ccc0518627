"""The console that prints tables, plans and progress."""

from __future__ import annotations

from rich.console import Console


class PlainConsole(Console):
    """Rich's console for text without highlights; if the reader of a pipe has closed it, the command decides."""

    def on_broken_pipe(self) -> None:
        """Raise the error again: rich itself would end the process with code 1 and no message."""
        raise  # noqa: PLE0704 - rich calls this while it handles the error
