"""The parts of `trust.py`: what each gathers, and what it says about the verdicts."""
