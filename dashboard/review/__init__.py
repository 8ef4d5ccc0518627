"""Review of findings: their table, one of them with its evidence, and what readers say and do about it."""
