"""Statistics shared by the runner and the store: pure functions over sequences of seconds."""
