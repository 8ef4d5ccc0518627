"""Compare a backend's results with eager's."""
