"""Findings: those of one run (`attention`), and the review of those between two, with what readers do about them."""
