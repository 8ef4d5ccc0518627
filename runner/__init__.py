"""The batch runner: plan, benchmark processes, records. torch is imported only in a benchmark process."""
