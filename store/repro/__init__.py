"""Faults worth an issue: which there are, and the draft of the issue about each. Pure; scripts are the runner's.

`find` reads them from a snapshot, `draft` writes Markdown, `folder` keeps one draft per fault.
"""
