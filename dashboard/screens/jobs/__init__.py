"""Jobs on page Runs: the queue, one job with its log, and the form for a new run; they need no results."""
