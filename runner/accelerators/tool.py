"""Ask a vendor's command-line tool; whatever goes wrong, the answer is that there is nothing."""

from __future__ import annotations

import shutil
import subprocess

_TIMEOUT_S = 10


def lines(tool: str, *words: str) -> list[str]:
    """Return what the tool prints, without blank lines; nothing where it is missing, fails or hangs."""
    path = shutil.which(tool)
    if path is None:
        return []
    try:
        out = subprocess.run([path, *words], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in out.stdout.splitlines() if line.strip()]
