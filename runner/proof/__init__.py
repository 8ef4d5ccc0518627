"""Timing proofs: a backend's clock is checked once per environment and machine, against its own outputs."""
