"""Reports over a snapshot: tables as data, and how to print them."""

from store.report.hud import floors_report, hud_report
from store.report.payoffs import fallbacks_report, payoffs_report
from store.report.peer import PeerOptions, peer_report
from store.report.render import render
from store.report.table import Report

__all__ = [
    "PeerOptions",
    "Report",
    "fallbacks_report",
    "floors_report",
    "hud_report",
    "payoffs_report",
    "peer_report",
    "render",
]
