"""Compare a backend's results with eager's."""

from __future__ import annotations

from runner.verify.process import verify

__all__ = ["verify"]
