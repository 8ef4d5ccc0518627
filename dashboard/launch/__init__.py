"""Jobs as pages see them: plans and reruns before they are queued, recurring runs, and what became of each."""
