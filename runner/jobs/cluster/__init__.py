"""More than one machine: jobs go to the nodes of a Ray cluster, and what they measure comes back."""
