"""Faults worth an issue, and the draft of an issue about each; `runner.repro` writes and runs the scripts.

`find` reads faults from a snapshot; `fault` is a fault and its draft, and manages the folder with one draft per fault.
"""
