"""The scheduler: processes, their order, and the record of what became of each."""
