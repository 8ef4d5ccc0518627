"""Resident memory of this process, with a high-water mark that can be reset (Linux)."""

from __future__ import annotations

from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"
_KIB = 1024


def _field_bytes(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * _KIB
    raise OSError(f"{_STATUS} has no field {name}")


def resident_bytes() -> int:
    """Return the present resident size."""
    return _field_bytes("VmRSS")


def peak_bytes() -> int:
    """Return the highest resident size since the last reset."""
    return _field_bytes("VmHWM")


def reset_peak() -> None:
    """Set the high-water mark to the present size."""
    _CLEAR_REFS.write_text(_RESET_PEAK)
