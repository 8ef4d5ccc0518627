"""Jobs: the queue, one job with its log, and the form that asks for a new run; they need no results."""
